#include "tools/store_options.h"

#include <fmt/format.h>

#include "store/chunks/compression.h"
#include "tools/hashing_options.h"

namespace braid::tools {
namespace {

CLI::Option* add_store_choice(CLI::App& command, std::string& directory) {
  return command.add_option("--store", directory, "The directory of a store that no server uses")
      ->type_name("DIR");
}

}  // namespace

CLI::App* add_store_status(CLI::App& app, StoreStatusCommand& command) {
  CLI::App* store = app.add_subcommand("store",
                                       "Say what a store holds, and seal trees into it: one that no server "
                                       "uses (--store), or that of a server");
  store->require_subcommand(0, 1);
  add_store_choice(*store, command.store);
  store->add_flag("--json", command.json, "As JSON");
  return store;
}

CLI::App* add_store_seal(CLI::App& store, StoreSealCommand& command) {
  CLI::App* seal = store.add_subcommand(
      "seal", "Move the bytes of a tree's files into a store; local processes then read zeros in them");
  seal->add_option("PATH", command.path, "Tree or file; a running server seals it unless there is --store")
      ->required()
      ->type_name(" ");
  CLI::Option* const store_choice = add_store_choice(*seal, command.store);
  seal->add_option(
          "--compression", command.compression,
          fmt::format("Of new chunks: {} (default: none); a server's store has it in its configuration",
                      store::compression_forms))
      ->type_name("HOW")
      ->check([](const std::string& text) {
        return store::parse_compression(text) ? std::string()
                                              : fmt::format("write {}", store::compression_forms);
      })
      ->needs(store_choice);
  seal->add_option(
          "--profile", command.profile,
          "How files above 16 KiB are cut: general (default), bulk, checkpoint, block, whole or fixed")
      ->type_name("PROFILE")
      ->check(CLI::IsMember(profile_names()));
  seal->add_option("--threads", command.threads, "Threads that read and hash (one per CPU)")
      ->type_name("N")
      ->check(CLI::Range(1, 256, "1 to 256"));
  return seal;
}

CLI::App* add_store_unseal(CLI::App& store, StoreUnsealCommand& command) {
  CLI::App* unseal = store.add_subcommand("unseal", "Give the files of a tree their bytes back");
  unseal->add_option("PATH", command.path, "Tree or file; a running server does it unless there is --store")
      ->required()
      ->type_name(" ");
  add_store_choice(*unseal, command.store);
  return unseal;
}

CLI::App* add_store_adopt(CLI::App& store, StoreAdoptCommand& command) {
  CLI::App* adopt = store.add_subcommand(
      "adopt",
      "Take in sealed files that were copied to another file system, with their holes and attributes");
  adopt->add_option("PATH", command.path, "Tree or file; no server uses the store meanwhile")
      ->required()
      ->type_name(" ");
  add_store_choice(*adopt, command.store)->required();
  adopt->add_flag("--zeros-were-written", command.zeros_were_written,
                  "Zeros that files have of their own are what clients have written, not holes that were not "
                  "kept when they were copied");
  return adopt;
}

CLI::App* add_store_gc(CLI::App& store, StoreGcCommand& command) {
  CLI::App* gc = store.add_subcommand("gc",
                                      "Remove what no file needs any more; nothing, if anything cannot be "
                                      "looked at. A running server does it "
                                      "unless there is --store");
  add_store_choice(*gc, command.store);
  gc->add_option("--keep-seconds", command.keep_seconds,
                 "How long garbage is kept after it was first seen (86400): not less than snapshots of the "
                 "trees live")
      ->type_name("N");
  return gc;
}

CLI::App* add_store_scrub(CLI::App& store, StoreScrubCommand& command) {
  CLI::App* scrub = store.add_subcommand("scrub",
                                         "Read every chunk, to find damage while there may be a copy of it; "
                                         "a running server does it unless there "
                                         "is --store");
  add_store_choice(*scrub, command.store);
  return scrub;
}

CLI::App* add_store_forget(CLI::App& store, StoreForgetCommand& command) {
  CLI::App* forget = store.add_subcommand(
      "forget", "Give up the files of a tree whose file system is gone for good, so that gc goes on");
  forget->add_option("TREE", command.tree, "Its number, path or file system, as braid store prints them")
      ->required()
      ->type_name(" ");
  add_store_choice(*forget, command.store)->required();
  return forget;
}

CLI::App* add_check(CLI::App& app, StoreCheckCommand& command) {
  CLI::App* check =
      app.add_subcommand("check", "Look for damage in a store that no server uses, and name the files");
  check->add_option("STORE", command.store, "The store's directory")->required()->type_name(" ");
  check->add_flag("--deep", command.deep, "Read every byte");
  check->add_flag("--repair", command.repair,
                  "First make anew what can be: registry, index, what a crash left of seals");
  check->footer(
      "Exit codes: 0 all is well, 1 it is after repairs, 4 there is damage, 8 not everything could be looked "
      "at.");
  return check;
}

}  // namespace braid::tools
