// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Random shapes and values for tests. The seed is Catch2's: a failing test prints it ("Randomness
// seeded to"), and --rng-seed repeats the run.
#pragma once

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <cstdint>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

namespace kvmeter::test {

class Random {
 public:
  /// `stream` keeps tests independent of each other.
  explicit Random(std::string_view stream) : Random(stream, Catch::getSeed()) {}
  Random(std::string_view stream, std::uint32_t seed) : seed_(seed) {
    std::seed_seq words{seed, static_cast<std::uint32_t>(std::hash<std::string_view>{}(stream))};
    engine_.seed(words);
  }

  [[nodiscard]] std::uint32_t seed() const { return seed_; }

  /// A whole number from least to most, both included.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  double uniform(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(engine_);
  }
  template <class T>
  T one_of(const std::vector<T>& choices) {
    return choices.at(static_cast<std::size_t>(between(0, std::ssize(choices) - 1)));
  }

  /// `n` normal values of the given standard deviation, as floats so that nothing is rounded when a
  /// kernel takes them.
  std::vector<float> normal(std::int64_t n, double deviation = 1) {
    std::normal_distribution<double> distribution(0, deviation);
    std::vector<float> values(static_cast<std::size_t>(n));
    for (float& value : values) value = static_cast<float>(distribution(engine_));
    return values;
  }
  std::vector<std::int64_t> ids(std::int64_t n, std::int64_t vocab_size) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(n));
    for (auto& value : values) value = between(0, vocab_size - 1);
    return values;
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    std::shuffle(values.begin(), values.end(), engine_);
  }

 private:
  std::uint32_t seed_;
  std::mt19937_64 engine_;
};

}  // namespace kvmeter::test
