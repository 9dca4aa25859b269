// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// How fast this host multiplies matrices of given shapes, by the fastest product that kvmeter knows
// (oneDNN). Without Kokkos: nvcc cannot parse oneDNN's header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/enums.hpp"

namespace kvmeter::measure {

/// A linear layer: [rows, in_dim] x [in_dim, out_dim], `count` of them in a forward pass.
struct MatmulShape {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t in_dim = 0;
  std::int64_t out_dim = 0;
  std::int64_t count = 1;

  [[nodiscard]] double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(in_dim) *
           static_cast<double>(out_dim);
  }
};

/// Median rate of one shape; layout is how the weights lay: "row-major" [out_dim, in_dim] or
/// "blocked", as the library likes best.
struct MatmulRate {
  MatmulShape shape;
  Element element = Element::f32;
  std::string layout;
  double flops_per_s = 0;
};

struct MatmulPlan {
  std::vector<MatmulShape> shapes;
  std::vector<Element> elements;
  bool every_layout = true;  // false: the blocked one only, commonly the best
  double seconds = 0;        // for all of it
  int passes = 7;            // that a median is over, where the time allows
};

/// The rates of the plan's shapes, on as many threads as OpenMP gives to the caller; an element
/// that the library cannot multiply on this machine is left out.
std::vector<MatmulRate> measure_matmuls(const MatmulPlan& plan);

/// "oneDNN 2.6.3": what measure_matmuls uses.
std::string matmul_library();

}  // namespace kvmeter::measure
