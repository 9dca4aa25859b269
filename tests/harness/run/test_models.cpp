// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/models.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "harness/core/error.hpp"
#include "tests/support/temp_dir.hpp"

using namespace kvmeter;
using namespace kvmeter::run;

namespace fs = std::filesystem;

namespace {

/// A home of its own: tiny (random), both (random and checkpoint), v1.5-mine (checkpoint).
class Home {
 public:
  Home() {
    for (const char* name : {"tiny", "both"})
      write(dir / "workloads" / "models" / (std::string(name) + ".json"));
    for (const char* name : {"both", "v1.5-mine"}) write(dir / "models" / name / "config.json");
    fs::create_directories(dir / "models" / "unfinished");
    setenv("KVMETER_HOME", dir.path().c_str(), 1);
  }
  ~Home() { unsetenv("KVMETER_HOME"); }

  static void write(const fs::path& file) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "{}";
  }

  test::TempDir dir;
};

using Names = std::vector<std::string>;

/// What finding this model says.
std::string refusal(const std::string& name, Weights weights) {
  try {
    find_model(name, weights);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("names of models and checkpoints are those of files", "[cpu]") {
  const Home home;
  CHECK(model_names() == Names{"both", "tiny"});
  CHECK(checkpoint_names() == Names{"both", "v1.5-mine"});
}

TEST_CASE("random weights prefer the config file, checkpoints their folder", "[cpu]") {
  const Home home;
  const fs::path models = home.dir / "models";
  CHECK(find_model("both", Weights::random).config == home.dir / "workloads/models/both.json");
  CHECK(find_model("both", Weights::random).weights.empty());
  CHECK(find_model("both", Weights::checkpoint).config == models / "both" / "config.json");
  CHECK(find_model("both", Weights::checkpoint).weights == models / "both");
  CHECK(find_model("v1.5-mine", Weights::random).weights == models / "v1.5-mine");
}

TEST_CASE("a path works where a name does", "[cpu]") {
  const Home home;
  const fs::path folder = home.dir / "models" / "v1.5-mine";
  CHECK(find_model(folder, Weights::checkpoint).weights == folder);
  CHECK(find_model(folder, Weights::checkpoint).name == "v1.5-mine");
  CHECK(find_model(folder / "", Weights::checkpoint).name == "v1.5-mine");
  const fs::path file = home.dir / "workloads" / "models" / "tiny.json";
  CHECK(find_model(file, Weights::random).name == "tiny");
  CHECK(find_model(file, Weights::random).config == file);
}

TEST_CASE("a model that is not there is refused with what is", "[cpu]") {
  const Home home;
  CHECK(refusal("tinny", Weights::random) ==
        "model: unknown model 'tinny'; did you mean 'tiny'? allowed: both, tiny, v1.5-mine, or a "
        "checkpoint folder with config.json");
  CHECK(refusal("", Weights::random).starts_with("model: unknown model ''"));
  CHECK(refusal("../models", Weights::random).starts_with("model: unknown model '../models'"));
  CHECK(refusal("no/such", Weights::checkpoint).starts_with("model: unknown model 'no/such'"));
  CHECK(refusal(home.dir / "models", Weights::random) ==
        "model: the folder " + (home.dir / "models").string() + " has no config.json");
}

TEST_CASE("a model without its checkpoint says which there are, or how to get it", "[cpu]") {
  const Home home;
  CHECK(refusal("tiny", Weights::checkpoint) ==
        "model: 'tiny' has no checkpoint in " + (home.dir / "models").string() +
            "; allowed with weights = checkpoint: both, v1.5-mine, or a checkpoint folder with "
            "config.json");
  Home::write(home.dir / "workloads" / "models" / "smollm2-135m.json");
  CHECK(refusal("smollm2-135m", Weights::checkpoint)
            .ends_with("; run scripts/fetch_model smollm2-135m"));
}

TEST_CASE("the script has the models that messages say it has", "[cpu]") {
  std::ifstream script(fs::path(KVMETER_SOURCE_DIR) / "scripts" / "checkpoints" / "fetch.py");
  std::stringstream text;
  text << script.rdbuf();
  CHECK(text.str().find("\"smollm2-135m\": Source(") != std::string::npos);
  CHECK(fetch_hint("tiny").empty());
}

TEST_CASE("KVMETER_HOME has to be one", "[cpu]") {
  const test::TempDir empty;
  setenv("KVMETER_HOME", empty.path().c_str(), 1);
  CHECK_THROWS_AS(home(), UsageError);
  unsetenv("KVMETER_HOME");
  CHECK(fs::is_directory(home() / "workloads" / "models"));
}

TEST_CASE("data files are looked up as given, then at home", "[cpu]") {
  const Home home;
  Home::write(home.dir / "models" / "both" / "text.safetensors");
  CHECK(find_file("models/both/text.safetensors") == home.dir / "models/both/text.safetensors");
  CHECK(find_file("no/such") == "no/such");
  CHECK(find_file("/no/such") == "/no/such");
}
