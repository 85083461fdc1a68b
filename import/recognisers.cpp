#include "import/recognisers.hpp"

#include <algorithm>
#include <array>

#include "import/accelerate.hpp"
#include "import/deepspeed.hpp"
#include "import/hugging_face.hpp"
#include "import/ibnetdiscover.hpp"
#include "import/megatron_script.hpp"
#include "import/nccl_topology.hpp"
#include "import/nemo.hpp"
#include "import/nvidia_smi_topology.hpp"
#include "import/slurm_topology.hpp"
#include "import/torchtitan.hpp"

namespace lockstep::importing {

std::span<const Recogniser> recognisers() {
  static constexpr auto kAll = std::to_array<Recogniser>({
      {"hugging_face", "a model's config.json of Hugging Face", is_hugging_face, read_hugging_face},
      {"accelerate", "YAML of `accelerate config`", is_accelerate, read_accelerate},
      {"deepspeed", "JSON of DeepSpeed", is_deepspeed, read_deepspeed},
      {"torchtitan", "TOML of torchtitan", is_torchtitan, read_torchtitan},
      {"nemo", "YAML of NeMo or Megatron-Bridge", is_nemo, read_nemo},
      {"nvidia_smi", "`nvidia-smi topo -m`", is_nvidia_smi_topology, read_nvidia_smi_topology},
      {"nccl_topology", "NCCL's topology, XML of NCCL_TOPO_DUMP_FILE", is_nccl_topology, read_nccl_topology},
      {"ibnetdiscover", "`ibnetdiscover`", is_ibnetdiscover, read_ibnetdiscover},
      {"slurm_topology", "SLURM's topology.conf", is_slurm_topology, read_slurm_topology},
      {"megatron", "a command line or script of Megatron-LM", is_megatron_script, read_megatron_script},
  });
  return kAll;
}

const Recogniser* recogniser_of(const SourceFile& file) {
  const auto all = recognisers();
  const auto found = std::ranges::find_if(all, [&](const Recogniser& row) { return row.recognises(file); });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace lockstep::importing
