// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/record/detail/record_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/core/error.hpp"
#include "harness/core/hash.hpp"
#include "harness/record/schema.hpp"

namespace kvmeter::detail {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPayload = R"(,"payload":)";
constexpr std::string_view kEnd = "}\n";

template <class Variant>
Json json_of(const Variant& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

template <class Map>
Json json_of_map(const Map& values) {
  Json out = Json::object();
  for (const auto& [name, value] : values)
    if (!is_missing(value)) out[name] = json_of(value);
  return out;
}

Json json_of_point(const Point& point) {
  Json out = Json::object();
  for (const PointKey& key : point_keys()) out[std::string(key.name)] = json_of(get(point, key));
  return out;
}

/// Samples as columns, which is half the size of one object each.
Json json_of_samples(const std::vector<Sample>& samples) {
  Json trial = Json::array(), index = trial, phase = trial, context_len = trial, n_tokens = trial,
       time_s = trial, is_warmup = trial;
  for (const Sample& sample : samples) {
    trial.push_back(sample.trial);
    index.push_back(sample.index);
    phase.push_back(name_of(sample.phase));
    context_len.push_back(sample.context_len);
    n_tokens.push_back(sample.n_tokens);
    time_s.push_back(std::isfinite(sample.time_s) ? Json(sample.time_s) : Json());
    is_warmup.push_back(sample.is_warmup);
  }
  return {{"trial", trial},        {"index", index},
          {"phase", phase},        {"context_len", context_len},
          {"n_tokens", n_tokens},  {"time_s", time_s},
          {"is_warmup", is_warmup}};
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// RecordValue, and PointValue with its bool.
template <class Variant>
Variant value_from(const Json& json) {
  if constexpr (std::is_same_v<Variant, PointValue>)
    if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return json.get<double>();
  return json.get<std::string>();
}

std::map<std::string, RecordValue> map_from(const Json& json) {
  std::map<std::string, RecordValue> values;
  for (const auto& [name, value] : json.items()) values[name] = value_from<RecordValue>(value);
  return values;
}

Point point_from(const Json& json) {
  Point point;
  for (const auto& [name, value] : json.items()) {
    const PointKey* key = find_point_key(name);
    KVMETER_EXPECTS(key != nullptr, "unknown key '{}'", name);
    set(point, *key, value_from<PointValue>(value));
  }
  return point;
}

std::vector<Sample> samples_from(const Json& json) {
  std::vector<Sample> samples(json.at("time_s").size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Json& time = json.at("time_s").at(i);
    samples[i] = {
        .trial = json.at("trial").at(i),
        .index = json.at("index").at(i),
        .phase = parse_enum<Phase>(json.at("phase").at(i).get<std::string>()),
        .context_len = json.at("context_len").at(i),
        .n_tokens = json.at("n_tokens").at(i),
        .time_s = time.is_null() ? std::numeric_limits<double>::quiet_NaN() : time.get<double>(),
        .is_warmup = json.at("is_warmup").at(i)};
  }
  return samples;
}

std::string head(std::string_view payload) {
  return fmt::format(R"({{"schema":{},"checksum":"{}")", schema_version, hex(fnv1a(payload)));
}

}  // namespace

std::string to_json(const PointRecord& record) {
  return dump({{"point_hash", record.point_hash},
               {"point", json_of_point(record.point)},
               {"status", name_of(record.status)},
               {"message", record.message},
               {"values", json_of_map(record.values)},
               {"samples", json_of_samples(record.samples)}});
}

std::string to_json(const Attributes& attributes) {
  return dump(json_of_map(attributes));
}

PointRecord record_from_json(std::string_view text) {
  const Json json = Json::parse(text);
  PointRecord record{.point_hash = json.at("point_hash"),
                     .point = point_from(json.at("point")),
                     .status = parse_enum<Status>(json.at("status").get<std::string>()),
                     .message = json.at("message"),
                     .values = map_from(json.at("values")),
                     .samples = samples_from(json.at("samples"))};
  check_record(record);
  return record;
}

Attributes attributes_from_json(std::string_view text) {
  Attributes attributes = map_from(Json::parse(text));
  check_attributes(attributes);
  return attributes;
}

std::string frame(std::string_view payload) {
  return fmt::format("{}{}{}{}", head(payload), kPayload, payload, kEnd);
}

std::string unframe(std::string_view framed) {
  const std::string schema = fmt::format(R"({{"schema":{},)", schema_version);
  KVMETER_EXPECTS(framed.starts_with(schema), "made with another schema version, or damaged");
  const std::size_t start = framed.find(kPayload);
  KVMETER_EXPECTS(start != framed.npos && framed.ends_with(kEnd), "truncated or damaged");
  std::string payload(framed.substr(start + kPayload.size()));
  payload.resize(payload.size() - std::min(payload.size(), kEnd.size()));
  KVMETER_EXPECTS(frame(payload) == framed, "damaged: its checksum does not match");
  return payload;
}

}  // namespace kvmeter::detail
