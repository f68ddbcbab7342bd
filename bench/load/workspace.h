// The directory that a run makes for itself on the server, what it keeps there, and its removal.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/options.h"
#include "bench/load/protocol.h"
#include "io/payload.h"
#include "io/slab.h"

namespace braid::load {

// The name of a file by its number: "f42".
class FileName {
 public:
  explicit FileName(std::uint64_t number);
  [[nodiscard]] std::string_view text() const { return {text_.data(), length_}; }

 private:
  std::array<char, 24> text_{};
  std::size_t length_ = 0;
};

// Belongs to the thread of `protocol`, which must outlive it.
class Workspace {
 public:
  // `name`: of the directory in `root`; nobody else may use it.
  Workspace(Protocol& protocol, io::Reactor& reactor, io::SlabPool& pool, const Options& options,
            const Handle& root, std::string name)
      : protocol_(protocol),
        reactor_(reactor),
        pool_(pool),
        options_(options),
        root_(root),
        name_(std::move(name)) {}

  // Makes the directory and all that the mix of operations needs in it. After a failure too clean_up() is to
  // be called.
  LoadOp<> prepare();
  // After prepare(): makes the data file the one that another connection reads and writes. detach() before
  // clean_up().
  LoadOp<> attach(Protocol& other);
  LoadOp<> detach(Protocol& other);
  // Removes everything, that which the run created too; fails at its end with the last of its failures.
  LoadOp<> clean_up();

  // Holds files(), and nothing else.
  [[nodiscard]] const Handle& directory() const { return directory_; }
  [[nodiscard]] const std::vector<Handle>& files() const { return files_; }
  // Where CREATE and REMOVE happen.
  [[nodiscard]] const Handle& playground() const { return playground_; }
  [[nodiscard]] const Handle& data_file() const { return data_file_; }
  // What the WRITE of that number carries, where each has bytes of its own. Fails when there is no memory.
  [[nodiscard]] base::Result<io::Payload, Fault> fresh(std::uint64_t number) const;
  // What a WRITE carries otherwise.
  [[nodiscard]] const io::Payload& data() const { return data_; }

  // The number of a name in the playground that nobody has used.
  std::uint64_t next_number() { return next_number_++; }
  // To be told once a file of that number exists.
  void created(std::uint64_t number) { removable_.push_back(number); }
  // A file of the playground that exists and that only the caller removes; nothing if none is left.
  std::optional<std::uint64_t> take_removable();

 private:
  [[nodiscard]] bool mix_has(std::initializer_list<Operation> operations) const;
  [[nodiscard]] unsigned width() const;
  LoadOp<Handle> make_directory(Handle parent, std::string_view name);
  LoadOp<Handle> make_file(Handle parent, std::string_view name);
  // Random bytes, the same for a number in each run with the same seed. Fails when there is no memory for
  // them.
  [[nodiscard]] base::Result<io::Payload, Fault> block_of(std::uint64_t number) const;
  // `size` bytes of the file that options name.
  [[nodiscard]] base::Result<io::Payload, Fault> copy_of(std::uint64_t number) const;
  LoadOp<> make_data();
  LoadOp<> make_files();
  LoadOp<> make_listed(std::uint64_t number);
  LoadOp<> fill_listed();
  LoadOp<> make_removable();
  LoadOp<> make_one_removable();
  LoadOp<> write_block(std::uint64_t block);
  // These go on after a failure and note it in not_removed_.
  LoadOp<> remove_numbered(Handle parent, std::uint64_t number);
  LoadOp<> remove(Handle parent, std::string_view name);
  LoadOp<> remove_directory(Handle parent, std::string_view name);

  Protocol& protocol_;
  io::Reactor& reactor_;
  io::SlabPool& pool_;
  const Options& options_;
  const Handle root_;
  const std::string name_;
  Handle base_;  // the directory `name_`; holds all the others
  Handle directory_;
  Handle playground_;
  Handle data_file_;
  std::vector<Handle> files_;
  io::Payload data_;
  std::uint64_t next_number_ = 0;
  std::deque<std::uint64_t> removable_;
  bool made_base_ = false;
  std::optional<Fault> not_removed_;
};

}  // namespace braid::load
