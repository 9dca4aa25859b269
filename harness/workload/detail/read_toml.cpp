// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "harness/core/error.hpp"
#include "harness/core/names.hpp"
#include "harness/workload/detail/settings.hpp"
#include "harness/workload/detail/stages.hpp"

namespace kvmeter::sweep_detail {
namespace {

/// A key of a table with its value; toml++ iterates in alphabetical order, files have one of their
/// own.
struct Entry {
  std::string name;
  const toml::node* value = nullptr;
  Place place;
};

class Reader {
 public:
  Reader(Context& context, const std::string& where) : m_context(context), m_where(where) {}

  Spec read(const toml::table& root) {
    for (const Entry& entry : entries(root)) read_top(entry);
    for (std::vector<Axis>* axes : {&m_fixed, &m_axes, &m_zips})
      std::ranges::move(*axes, std::back_inserter(m_spec.axes));
    return std::move(m_spec);
  }

 private:
  Place place_of(const toml::node& node) const { return {m_where, node.source().begin.line}; }

  std::vector<Entry> entries(const toml::table& table) const {
    std::vector<std::pair<toml::source_position, Entry>> found;
    for (const auto& [key, value] : table) {
      const toml::source_position begin = key.source().begin;
      found.emplace_back(begin, Entry{std::string(key.str()), &value, {m_where, begin.line}});
    }
    std::ranges::sort(
        found, {}, [](const auto& pair) { return std::pair(pair.first.line, pair.first.column); });
    std::vector<Entry> sorted;
    for (auto& [begin, entry] : found) sorted.push_back(std::move(entry));
    return sorted;
  }

  void wrong(const Place& place, std::string text) {
    m_context.mistakes.add(place, std::move(text));
  }

  const toml::table* table_of(const Entry& entry) {
    const toml::table* table = entry.value->as_table();
    if (table == nullptr)
      wrong(entry.place, fmt::format("{}: expected a table, [{}]", entry.name, entry.name));
    return table;
  }

  void read_top(const Entry& entry) {
    if (entry.name == "fixed") return read_columns(entry, m_fixed, &Reader::fixed_column);
    if (entry.name == "axes") return read_columns(entry, m_axes, &Reader::list_column);
    if (entry.name == "zip") return for_each_table(entry, &Reader::read_zip);
    if (entry.name == "skip") return for_each_table(entry, &Reader::read_skip);
    if (entry.name == "stop" || entry.name == "limits") return read_settings(entry);
    if (is_one_of(setting_names(""), entry.name)) return read_setting(entry, "");
    if (!keys_of(entry.name).empty())
      return wrong(entry.place,
                   fmt::format("{}: stands outside of a table; allowed: under [fixed], "
                               "[axes] or [[zip]]",
                               entry.name));
    static constexpr auto allowed = std::to_array<std::string_view>(
        {"name", "description", "seed", "fixed", "axes", "zip", "skip", "stop", "limits"});
    wrong(entry.place,
          unknown_name(entry.value->is_table() ? "table" : "key", entry.name, allowed));
  }

  static bool is_one_of(const std::vector<std::string_view>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  }

  // Values.

  std::optional<PointValue> value_of(const std::string& name, const toml::node& node) {
    if (const auto* text = node.as_string()) return PointValue(text->get());
    if (const auto* whole = node.as_integer()) return PointValue(whole->get());
    if (const auto* real = node.as_floating_point()) return PointValue(real->get());
    if (const auto* flag = node.as_boolean()) return PointValue(flag->get());
    wrong(place_of(node),
          fmt::format("{}: expected a string, a number or true or false, not {}", name,
                      node.is_array()   ? "a list"
                      : node.is_table() ? "a table"
                                        : "a date or time"));
    return std::nullopt;
  }

  void add(Column& column, const toml::node& node) {
    const auto value = value_of(column.name, node);
    if (value) {
      add_value(m_context, column, *value, place_of(node));
    } else {
      column.values.emplace_back();
      column.faulty = true;
    }
  }

  /// A column without values, or a mistake if the name is unknown.
  std::optional<Column> start_column(const Entry& entry) {
    Column column{entry.name, keys_of(entry.name), {}, entry.place};
    if (!column.keys.empty()) return column;
    wrong(entry.place, unknown_name("key", entry.name, column_names()));
    return std::nullopt;
  }

  std::optional<Column> fixed_column(const Entry& entry) {
    auto column = start_column(entry);
    if (column && entry.value->is_array()) {
      wrong(entry.place,
            fmt::format("{}: expected one value; a list belongs under [axes]", entry.name));
      column->values.emplace_back();
      column->faulty = true;
    } else if (column) {
      add(*column, *entry.value);
    }
    return column;
  }

  std::optional<Column> list_column(const Entry& entry) {
    auto column = start_column(entry);
    if (!column) return column;
    if (const toml::array* list = entry.value->as_array()) {
      for (const toml::node& node : *list) add(*column, node);
    } else {
      wrong(entry.place, fmt::format("{}: expected a list of values, [..]; one value belongs under "
                                     "[fixed]",
                                     entry.name));
      column->values.emplace_back();
      column->faulty = true;
    }
    return column;
  }

  // Tables.

  void read_columns(const Entry& entry, std::vector<Axis>& axes,
                    std::optional<Column> (Reader::*read_column)(const Entry&)) {
    const toml::table* table = table_of(entry);
    if (table == nullptr) return;
    for (const Entry& inner : entries(*table)) {
      auto column = (this->*read_column)(inner);
      if (column) axes.push_back({{*std::move(column)}, inner.place});
    }
  }

  void for_each_table(const Entry& entry, void (Reader::*read_one)(const toml::table&)) {
    const toml::array* list = entry.value->as_array();
    const bool tables = list != nullptr && std::ranges::all_of(*list, [](const toml::node& node) {
                          return node.is_table();
                        });
    if (!tables)
      return wrong(entry.place, fmt::format("{}: expected a list of tables, each [[{}]]",
                                            entry.name, entry.name));
    for (const toml::node& node : *list) (this->*read_one)(*node.as_table());
  }

  void read_zip(const toml::table& table) {
    Axis axis{{}, place_of(table)};
    for (const Entry& entry : entries(table)) {
      auto column = list_column(entry);
      if (column) axis.columns.push_back(*std::move(column));
    }
    if (table.empty()) wrong(axis.place, "zip: no keys in this table");
    if (!axis.columns.empty()) m_zips.push_back(std::move(axis));
  }

  void read_skip(const toml::table& table) {
    static constexpr auto allowed = std::to_array<std::string_view>({"when", "because"});
    SkipRule rule;
    for (const Entry& entry : entries(table)) {
      if (entry.name == "when") {
        read_when(entry, rule);
      } else if (entry.name == "because" && entry.value->is_string()) {
        rule.because = entry.value->as_string()->get();
      } else if (entry.name != "because") {
        wrong(entry.place, "skip: " + unknown_name("key", entry.name, allowed));
      }
    }
    const Place place = place_of(table);
    if (!table.contains("when"))
      wrong(place, "skip: expected when = { key = value, ... }, which points to leave out");
    if (rule.because.empty()) wrong(place, "skip: expected because = \"...\", the reason to show");
    m_spec.skips.push_back(std::move(rule));
  }

  void read_when(const Entry& entry, SkipRule& rule) {
    const toml::table* table = table_of(entry);
    if (table == nullptr) return;
    for (const Entry& inner : entries(*table)) {
      auto column = inner.value->is_array() ? list_column(inner) : fixed_column(inner);
      if (column) rule.when.push_back(*std::move(column));
    }
    if (table->empty()) wrong(entry.place, "skip: when is empty and would leave out every point");
  }

  void read_settings(const Entry& entry) {
    const toml::table* table = table_of(entry);
    if (table == nullptr) return;
    const auto names = setting_names(entry.name);
    for (const Entry& inner : entries(*table)) {
      if (is_one_of(names, inner.name)) {
        read_setting(inner, entry.name + ".");
      } else {
        wrong(inner.place,
              fmt::format("[{}]: {}", entry.name, unknown_name("key", inner.name, names)));
      }
    }
  }

  void read_setting(const Entry& entry, const std::string& prefix) {
    const auto value = value_of(prefix + entry.name, *entry.value);
    if (value) apply_setting(m_context, m_spec.sweep, prefix + entry.name, *value, entry.place);
  }

  Context& m_context;
  std::string m_where;
  Spec m_spec;
  std::vector<Axis> m_fixed, m_axes, m_zips;
};

}  // namespace

Spec read_toml(Context& context, std::string_view text, const std::string& where) {
  try {
    return Reader(context, where).read(toml::parse(text, where));
  } catch (const toml::parse_error& error) {
    context.mistakes.add({where, error.source().begin.line},
                         fmt::format("not TOML: {}", error.description()));
    context.mistakes.throw_if_any();
    throw;
  }
}

}  // namespace kvmeter::sweep_detail
