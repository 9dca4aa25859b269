// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Where models are: names to files of this repository, paths as they are. Reads no file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/enums.hpp"

namespace kvmeter::run {

struct ModelFiles {
  std::string name;               // short: of the file or folder
  std::filesystem::path config;   // a config.json, by whatever name
  std::filesystem::path weights;  // the checkpoint folder; empty: random weights only
};

/// The folder that has workloads/models and models: KVMETER_HOME, else the first that has them of
/// the current directory, the folders above the program, and the source tree it was built from.
std::filesystem::path home();

/// The files of a name, a checkpoint folder or a config file. Throws UsageError that lists the
/// names, or says how to get the checkpoint if there is a script for it.
ModelFiles find_model(const std::string& name_or_path, Weights weights);

/// Names of workloads/models/NAME.json, and of models/NAME/ that hold a checkpoint, in order.
std::vector<std::string> model_names();
std::vector<std::string> checkpoint_names();

/// A data file (a text, a trace): the path as it is, or from home() if it is there. May not exist.
std::filesystem::path find_file(const std::filesystem::path& path);

/// "; run scripts/fetch_model NAME" if that script has the model, else empty.
std::string fetch_hint(std::string_view name);

}  // namespace kvmeter::run
