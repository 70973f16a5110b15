#include "data/import_csv.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "data/csv_labels.h"
#include "data/sample_form.h"
#include "data/shard_import.h"

namespace lockstep::data {

namespace {

constexpr std::int64_t kPieceBytes = 4 << 20;

// One pass over the file.
class CsvPass {
 public:
  explicit CsvPass(const CsvImport& job) : input_(job.open()), file_(input_->name()) {
    CsvReader reader(std::move(input_), job.separator);
    reader_.emplace(std::move(reader));
    if (!reader_->next(record_)) throw Error(ExitCode::bad_data, file_ + " is empty");
    first_line_ = record_.line;
    columns_ = find_columns(record_, job.roles, file_);
    waiting_ = !columns_.header();
  }

  const std::string& file() const { return file_; }
  const CsvColumns& columns() const { return columns_; }

  // The next line with a sample; false at the end.
  bool next() {
    if (!std::exchange(waiting_, false) && !reader_->next(record_)) return false;
    if (record_.fields.size() != columns_.count) {
      throw Error(ExitCode::bad_data,
                  fmt::format("{}:{}: it has {} fields, wanted {} as in line {}{}", file_, record_.line,
                              record_.fields.size(), columns_.count, first_line_,
                              columns_.count == 1 ? ": is --separator right?" : ""));
    }
    return true;
  }

  std::string_view field(std::size_t column) const { return record_.fields[column]; }

  std::string where(std::size_t column) const {
    return fmt::format("{}:{}: {}", file_, record_.line, columns_.describe(column));
  }

  float number(std::size_t column) const {
    const std::string_view text = field(column);
    if (const auto value = parse_csv_number(text)) return *value;
    throw Error(ExitCode::bad_data,
                fmt::format("{} is {}, wanted a finite number: correct or remove that line, or pass over the "
                            "column with --ignore",
                            where(column), text.empty() ? "empty" : fmt::format("\"{}\"", shown(text))));
  }

 private:
  std::unique_ptr<ByteInput> input_;
  std::string file_;
  std::optional<CsvReader> reader_;
  CsvRecord record_;
  CsvColumns columns_;
  std::int64_t first_line_ = 0;
  bool waiting_ = false;  // the first record is a sample that next() has not given yet
};

std::int64_t count_rows(const CsvImport& job, CsvClasses& classes) {
  CsvPass pass(job);
  std::int64_t rows = 0;
  for (; pass.next(); ++rows) {
    if (const auto label = pass.columns().label) {
      classes.collect(pass.field(*label), [&] { return pass.where(*label); });
    }
  }
  if (rows == 0) throw Error(ExitCode::bad_data, pass.file() + " has no line with a sample");
  return rows;
}

std::vector<std::int64_t> sample_shape(const CsvImport& job, const CsvPass& pass) {
  const std::vector<std::int64_t> flat = {static_cast<std::int64_t>(pass.columns().samples.size())};
  return SampleForm(pass.file(), ElementType::f32, flat, job.shape, RowLayout::as_is).shape();
}

void check_label(const CsvPass& pass, std::int64_t label, const ImportTarget& target) {
  if (!target.classes || label < *target.classes) return;
  const std::size_t column = *pass.columns().label;
  throw Error(ExitCode::bad_data,
              fmt::format("{} is \"{}\", class {}, wanted 0 to {}: correct --classes", pass.where(column),
                          shown(pass.field(column)), label, *target.classes - 1));
}

// Columns in another order than the training split's have the same shape, and would be taken for others.
void check_names(const CsvPass& pass, const Names& names, const ImportTarget& target) {
  const auto differs = difference(names, target.like_names, target.like.string());
  if (!differs) return;
  throw Error(ExitCode::bad_data,
              fmt::format("{} has {}: give it the same columns in the same order", pass.file(), *differs));
}

class PieceOfRows {
 public:
  PieceOfRows(const CsvPass& pass, const CsvClasses& classes, const ImportTarget& target)
      : pass_(pass), classes_(classes), target_(target) {}

  void add() {
    const CsvColumns& columns = pass_.columns();
    for (const std::size_t column : columns.samples) x_.push_back(pass_.number(column));
    for (const std::size_t column : columns.targets) targets_.push_back(pass_.number(column));
    if (columns.label) {
      labels_.push_back(
          classes_.number(pass_.field(*columns.label), [&] { return pass_.where(*columns.label); }));
      check_label(pass_, labels_.back(), target_);
    }
    ++rows_;
  }

  void flush(ShardImport& shards) {
    const std::string place = pass_.file();
    shards.append({std::as_bytes(std::span<const float>(x_)), labels_, targets_, place, place, first_row_});
    first_row_ += std::exchange(rows_, 0);
    x_.clear();
    labels_.clear();
    targets_.clear();
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t read() const { return first_row_ + rows_; }

 private:
  const CsvPass& pass_;
  const CsvClasses& classes_;
  const ImportTarget& target_;
  std::vector<float> x_;
  std::vector<std::int64_t> labels_;
  std::vector<float> targets_;
  std::int64_t rows_ = 0;
  std::int64_t first_row_ = 0;
};

char separator_of(const std::string& text) {
  if (text == "tab") return '\t';
  if (text.size() == 1 && text[0] > ' ' && text[0] != '"') return text[0];
  throw Error(ExitCode::usage,
              fmt::format("--separator is \"{}\", wanted one character, such as ';', or the word tab", text));
}

std::vector<std::string> columns_of(const std::string& list) {
  std::vector<std::string> columns;
  for (const std::string& column : split(list, ',')) columns.emplace_back(trim(column));
  return columns;
}

CsvImport job_of(const ImportArguments& arguments) {
  static constexpr std::array<std::string_view, 3> headers = {"auto", "yes", "no"};
  static constexpr std::array<std::string_view, 4> forms = {"auto", "from-0", "from-1", "names"};
  CsvImport job;
  const std::filesystem::path file = arguments.text("file");
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored)) {
    throw Error(ExitCode::missing_input,
                fmt::format("{} is no regular file, and a CSV file is read twice", file.string()));
  }
  job.open = [file] { return open_input(file); };
  job.separator = separator_of(arguments.text("separator", ","));
  if (arguments.given("label")) job.roles.label = arguments.text("label");
  job.roles.targets = columns_of(arguments.text("target"));
  job.roles.ignored = columns_of(arguments.text("ignore"));
  if (job.roles.label.has_value() == !job.roles.targets.empty()) {
    throw Error(ExitCode::usage,
                "give --label=COLUMN for classes, or --target=COLUMNS for numbers to predict, one of both");
  }
  const std::size_t header = arguments.choice("header", headers);
  if (header > 0) job.roles.header = header == 1;
  job.labels = static_cast<CsvLabels>(arguments.choice("label-form", forms));
  job.shape = parse_shape(arguments.text("shape"));
  return job;
}

Imported run(const ImportArguments& arguments, const ImportTarget& target) {
  return import_csv(job_of(arguments), target);
}

constexpr std::array<ImportOption, 8> kOptions = {{
    {"file", "FILE", "CSV, plain or gzip'd", ImportOption::Kind::required},
    {"label", "COLUMN", "the column with the class: its name in the first line, or its number from 1"},
    {"target", "COLUMNS", "or the columns with numbers to predict, with commas between"},
    {"ignore", "COLUMNS", "columns to pass over; all others are the sample"},
    {"header", "auto|yes|no", "is the first line one of names? default: yes where it has no number"},
    {"separator", "C", "between fields: a character, or the word tab; default: a comma"},
    {"label-form", "F",
     "what labels are: auto (class numbers where all are whole numbers, or else names), from-0, from-1, "
     "names"},
    {"shape", "AxBxC", "the shape of a sample, such as 1x28x28; default: one number for each column"},
}};

[[noreturn]] void refuse_changed(const std::string& file) {
  throw Error(ExitCode::bad_data, file + " was changed while it was read: import it again");
}

}  // namespace

extern const Importer csv_importer;
constexpr Importer csv_importer = {
    "csv",
    "tables as text, one sample a line",
    "--file FILE --label COLUMN",
    "Turns a CSV file (RFC 4180) into HDF5 shards. Names of classes are numbered in sorted order;\n"
    "DIR/classes.txt has them, one a line, and --normalise-from takes them from there.",
    kOptions,
    run,
};

Imported import_csv(const CsvImport& job, const ImportTarget& target) {
  CsvClasses classes(job.labels, target);
  const std::int64_t rows = count_rows(job, classes);
  classes.decide();
  ImportTarget with_classes = target;
  const auto names = static_cast<std::int64_t>(classes.names().size());
  if (names > 0 && !target.classes) with_classes.classes = names;

  CsvPass pass(job);
  RowForm form{sample_shape(job, pass), ElementType::f32, ElementType::i64,
               static_cast<std::int64_t>(pass.columns().targets.size())};
  if (form.target_width > 0) form.y = ElementType::f32;
  form.names = {pass.columns().names_of(pass.columns().samples),
                pass.columns().names_of(pass.columns().targets), classes.names()};
  check_names(pass, form.names, target);
  const std::int64_t piece_rows = std::max<std::int64_t>(1, kPieceBytes / form.sample_bytes());
  // Columns have units of their own, images do not.
  ShardImport shards(with_classes, rows, form, job.shape.empty() ? form.sample_elements() : 1);
  PieceOfRows piece(pass, classes, with_classes);
  while (pass.next()) {
    if (piece.read() == rows) refuse_changed(pass.file());
    piece.add();
    if (piece.rows() == piece_rows) piece.flush(shards);
  }
  if (piece.read() != rows) refuse_changed(pass.file());
  piece.flush(shards);
  return shards.finish();
}

}  // namespace lockstep::data
