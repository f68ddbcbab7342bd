#include "tools/hashing_options.h"

#include "hashing/chunk_params.h"

namespace braid::tools {

std::vector<std::string> profile_names() {
  std::vector<std::string> out;
  out.reserve(hashing::all_profiles.size());
  for (const hashing::Profile profile : hashing::all_profiles) out.emplace_back(hashing::name_of(profile));
  return out;
}

CLI::App* add_hash(CLI::App& app, HashCommand& command) {
  CLI::App* hash = app.add_subcommand("hash", "Print the chunks of files and their ids");
  CLI::Option* files = hash->add_option("FILE", command.files, "Files to cut and hash")->type_name(" ");
  hash->add_option("--profile", command.profile,
                   "How to cut: general (default), bulk, checkpoint, block, whole or fixed")
      ->type_name("PROFILE")
      ->check(CLI::IsMember(profile_names()));
  hash->add_option("--algorithm", command.algorithm, "blake3 (default), sha256-tree or md5-tree")
      ->type_name("NAME")
      ->check(CLI::IsMember({"blake3", "sha256-tree", "md5-tree"}));
  hash->add_option("--key-file", command.key_file, "File of 32 bytes: the key of ids and boundaries")
      ->type_name("FILE");
  CLI::Option* whole = hash->add_flag(
      "--whole", command.whole, "One BLAKE3 digest per file, as b3sum prints it (with a key: b3sum --keyed)");
  hash->add_flag(
          "--where", command.where,
          "Cut and hash as a server does, and print where each job ran, on cores or on a card, and why")
      ->excludes(whole);
  hash->add_flag("--card-info", command.card_info,
                 "Print which CUDA cards there are, and why one is not used")
      ->excludes(files);
  return hash;
}

CLI::App* add_dedup(CLI::App& app, DedupCommand& command) {
  CLI::App* dedup = app.add_subcommand("dedup", "What storing chunks once would save");
  dedup->require_subcommand(1);
  CLI::App* estimate =
      dedup->add_subcommand("estimate", "Read the files of a directory and say what each profile saves");
  estimate->add_option("DIR", command.directory, "Directory to read")->required()->type_name(" ");
  estimate->add_option("--key-file", command.key_file, "File of 32 bytes: the key of ids and boundaries")
      ->type_name("FILE");
  estimate->add_option("--ids", command.ids_file, "Write profile, length and id of every chunk to this file")
      ->type_name("FILE");
  estimate->add_option("--threads", command.threads, "Threads that read and hash (one per CPU)")
      ->type_name("N")
      ->check(CLI::Range(1, 256, "1 to 256"));
  return dedup;
}

}  // namespace braid::tools
