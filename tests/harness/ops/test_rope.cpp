// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/ops/rope.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "tests/oracle/functions.hpp"
#include "tests/oracle/rope.hpp"
#include "tests/support/all_close.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/random.hpp"

namespace kvmeter::test {
namespace {

using oracle::Vector;
constexpr double u = 0x1p-24;

struct Heads {
  std::int64_t q, kv, dim;
};

/// q and k heads normed and turned, v heads as they are; and for each element how far float may be:
/// 3 roundings for the norm, then cos and sin rounded, a product and a sum, each at most u (|a| +
/// |b|).
struct Expected {
  Vector values, bounds;
};
void expect_head(Vector head, const Vector& norm, double epsilon, std::int64_t position,
                 const Vector& frequencies, Expected& expected) {
  if (!norm.empty()) head = oracle::rms_norm(head, norm, epsilon);
  const double roundings = (norm.empty() ? 0 : 3) + (frequencies.empty() ? 0 : 3);
  const std::size_t half = head.size() / 2;
  for (std::size_t i = 0; i < head.size(); ++i) {
    const double partner = frequencies.empty() ? 0 : std::abs(head[(i + half) % head.size()]);
    expected.bounds.push_back(1.01 * roundings * u * (std::abs(head[i]) + partner));
  }
  if (!frequencies.empty()) oracle::rotate(head, position, frequencies);
  expected.values.insert(expected.values.end(), head.begin(), head.end());
}

TEMPLATE_LIST_TEST_CASE("rotate norms and turns the heads of q and k and leaves v", "", TestExecs) {
  const TestType exec;
  const Heads heads = GENERATE(Heads{4, 2, 16}, Heads{3, 1, 2}, Heads{9, 3, 64}, Heads{5, 5, 40});
  const bool has_norm = GENERATE(false, true);
  const bool turns = GENERATE(false, true);
  CAPTURE(heads.q, heads.kv, heads.dim, has_norm, turns);
  Random random("rope");
  const std::vector<std::int32_t> positions{0, 1, 77, 8191, 500};
  const std::int64_t columns = (heads.q + 2 * heads.kv) * heads.dim;
  const auto qkv = random.normal(5 * columns);
  const auto q_norm = has_norm ? random.normal(heads.dim) : std::vector<float>{};
  const auto k_norm = has_norm ? random.normal(heads.dim) : std::vector<float>{};
  ModelConfig config;
  config.head_dim = heads.dim;
  const Vector frequencies = turns ? oracle::rope_frequencies(config) : Vector{};

  ops::RotateArguments<typename TestType::memory_space> arguments;
  arguments.qkv = to_device(exec, qkv, 5);
  arguments.n_heads = static_cast<std::int32_t>(heads.q + heads.kv);
  arguments.n_q_heads = static_cast<std::int32_t>(heads.q);
  arguments.head_dim = static_cast<std::int32_t>(heads.dim);
  arguments.positions = to_device(exec, positions);
  if (turns) arguments.table = ops::make_rope_table(exec, frequencies, 8192);
  arguments.q_norm = to_device(exec, q_norm);
  arguments.k_norm = to_device(exec, k_norm);
  arguments.norm_epsilon = 0.1;  // large enough to be missed
  ops::rotate(exec, arguments);

  Expected expected;
  for (std::size_t r = 0; r < positions.size(); ++r)
    for (std::int64_t h = 0; h < heads.q + 2 * heads.kv; ++h) {
      const auto first = qkv.begin() + static_cast<std::int64_t>(r) * columns + h * heads.dim;
      const bool is_v = h >= heads.q + heads.kv;
      const auto& norm = h < heads.q ? q_norm : k_norm;
      expect_head({first, first + heads.dim}, is_v ? Vector{} : Vector(norm.begin(), norm.end()),
                  0.1, positions[r], is_v ? Vector{} : frequencies, expected);
    }
  CHECK_THAT(to_host(exec, arguments.qkv),
             AllClose(expected.values, expected.bounds, {5, columns}));
}

TEMPLATE_LIST_TEST_CASE("Angles keep their precision at large positions", "", TestExecs) {
  // In float, 131,071 x 0.7 would already be off by 0.004.
  const TestType exec;
  const Vector frequencies{1, 0.7, 1e-3};
  const auto table = ops::make_rope_table(exec, frequencies, 131072);
  const auto cos = to_host(exec, table.cos);
  const auto sin = to_host(exec, table.sin);
  for (const std::size_t position : {0, 1, 99999, 131071})
    for (std::size_t i = 0; i < 3; ++i) {
      const double angle = static_cast<double>(position) * frequencies[i];
      CHECK(std::abs(cos.at(position * 3 + i) - std::cos(angle)) <= u);
      CHECK(std::abs(sin.at(position * 3 + i) - std::sin(angle)) <= u);
    }
}

}  // namespace
}  // namespace kvmeter::test
