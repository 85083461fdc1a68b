#include "app/commands/calibrate_show.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "app/answer.hpp"
#include "app/profile_listing.hpp"

namespace lockstep {

void add_calibrate_show(CLI::App& calibrate, std::function<int()>& action) {
  struct Options {
    std::string profile;
    AnswerOptions answer;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      calibrate.add_subcommand("show", "every number of a profile, what it rests on, and how good it is");
  command->footer(
      "examples:\n"
      "  lockstep calibrate show a100_80gb        a GPU, with its set of kernel efficiencies\n"
      "  lockstep calibrate show dgx_a100         collectives of a class of machines\n"
      "  lockstep calibrate show v100_lin_2022    a host\n"
      "  lockstep calibrate show mine.yaml --json -\n"
      "  lockstep calibrate show learned.yaml     networks for kernels: where they answer, and how well");
  command
      ->add_option(
          "PROFILE", options->profile,
          "a name of lockstep list gpus, kernel_efficiency, profiles, hosts or learned_kernels, or a file")
      ->required();
  add_answer_options(*command, options->answer);
  command->callback([options, &action] {
    action = [options] {
      check_answer(options->answer);
      const ProfileListing listing = list_profile(options->profile, ConfigPath::standard());
      give_answer(options->answer, listing_text(listing), [&] { return listing_json(listing); });
      return 0;
    };
  });
}

}  // namespace lockstep
