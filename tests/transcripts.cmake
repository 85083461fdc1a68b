# What the program says, compared with files: one test per scenario folder (`golden`), one per broken input
# (`inputs`). tools/run_transcript.py tells the formats, tools/update_goldens.sh rewrites the files.

if(NOT TARGET lockstep)
  return()
endif()

set(transcript python3 -B ${PROJECT_SOURCE_DIR}/tools/run_transcript.py --lockstep $<TARGET_FILE:lockstep>)

file(GLOB scenarios CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scenarios/*/scenario.yaml)
foreach(scenario ${scenarios})
  cmake_path(GET scenario PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  add_test(NAME golden.${name} COMMAND ${transcript} golden ${folder})
  set_tests_properties(golden.${name} PROPERTIES LABELS golden)
endforeach()

add_test(NAME golden.reference COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tools/reference.py --lockstep $<TARGET_FILE:lockstep>)
set_tests_properties(golden.reference PROPERTIES LABELS golden)

file(GLOB expectations CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/inputs/*/*.expected)
foreach(expectation ${expectations})
  cmake_path(GET expectation STEM name)
  add_test(NAME inputs.${name} COMMAND ${transcript} input ${expectation})
  set_tests_properties(inputs.${name} PROPERTIES LABELS inputs)
endforeach()

# What the user sees of kernels that networks were not trained on.
add_test(NAME inputs.beyond_networks COMMAND lockstep run ${CMAKE_CURRENT_LIST_DIR}/inputs/steps/beyond_networks.yaml
         -o ${PROJECT_BINARY_DIR}/beyond_networks)
set_tests_properties(inputs.beyond_networks PROPERTIES LABELS inputs PASS_REGULAR_EXPRESSION
                     "[0-9] % of the kernel time is outside what the GPU's networks were trained on. formulas answered, with a wider band: gemv, sgemm")

# A drawing without nodes, whose GPUs are on a network: one node's costs, over its links.
add_test(NAME inputs.network_without_nodes COMMAND lockstep run
         ${CMAKE_CURRENT_LIST_DIR}/inputs/cluster/network_without_nodes.yaml --no-timeline
         -o ${PROJECT_BINARY_DIR}/network_without_nodes)
set_tests_properties(inputs.network_without_nodes PROPERTIES LABELS inputs PASS_REGULAR_EXPRESSION "step time +[0-9.]+ ms")

add_test(NAME inputs.full_memory COMMAND lockstep run ${CMAKE_CURRENT_LIST_DIR}/inputs/cluster/full_memory.yaml
         --no-timeline -o ${PROJECT_BINARY_DIR}/full_memory)
set_tests_properties(inputs.full_memory PROPERTIES LABELS inputs PASS_REGULAR_EXPRESSION
                     "rank 0 needs 99.9 % of its GPU's memory: where PyTorch's allocator finds no room")

add_test(NAME inputs.indices_repeat_beyond_their_sample COMMAND lockstep run
         ${CMAKE_CURRENT_LIST_DIR}/inputs/dlrm/indices_repeat_beyond_their_sample.yaml --no-timeline
         -o ${PROJECT_BINARY_DIR}/indices_repeat_beyond_their_sample)
set_tests_properties(inputs.indices_repeat_beyond_their_sample PROPERTIES LABELS inputs PASS_REGULAR_EXPRESSION
                     "table 8 .2 such.: each index repeats index_duplication 6 times within its sample, which has pooling_factor 1 lookups")

# Dependencies on nodes that a trace has not are left out, and said.
add_test(NAME inputs.trace_unknown_node COMMAND lockstep run ${CMAKE_CURRENT_LIST_DIR}/inputs/traces/trace_unknown_node.yaml
         --no-timeline -o ${PROJECT_BINARY_DIR}/trace_unknown_node)
set_tests_properties(inputs.trace_unknown_node PROPERTIES LABELS inputs PASS_REGULAR_EXPRESSION
                     "odd about the traces: dependency on a node that the file has not .1 times.; `lockstep import FILE` explains")

# A component tells more when --log asks it to, and the others do not.
add_test(NAME inputs.log_of_sim COMMAND lockstep run ${CMAKE_CURRENT_LIST_DIR}/inputs/sound.yaml --no-timeline --log sim=debug
         -o ${PROJECT_BINARY_DIR}/log_of_sim)
set_tests_properties(inputs.log_of_sim PROPERTIES LABELS inputs PASS_REGULAR_EXPRESSION
                     "debug: sim: SimGrid platform of 2 hosts and [0-9]+ links" FAIL_REGULAR_EXPRESSION "debug: scenario")

# SimGrid's own trace of a run on its actors.
add_test(NAME inputs.trace_of_simgrid COMMAND sh -c "$<TARGET_FILE:lockstep> run ${CMAKE_CURRENT_LIST_DIR}/inputs/sound.yaml \
         --no-timeline --set engine=s4u --cfg tracing:yes --cfg tracing/platform:yes --cfg tracing/actor:yes \
         --cfg tracing/filename:${PROJECT_BINARY_DIR}/run.paje -o ${PROJECT_BINARY_DIR}/trace_of_simgrid \
         && grep -c -E '^6 .*gpu0|^6 .*rank0.main' ${PROJECT_BINARY_DIR}/run.paje")
set_tests_properties(inputs.trace_of_simgrid PROPERTIES LABELS inputs)

add_test(NAME inputs.interrupted_run COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/interrupt_run.py
         $<TARGET_FILE:lockstep> ${PROJECT_SOURCE_DIR}/scenarios/dlrm_pcie)
set_tests_properties(inputs.interrupted_run PROPERTIES LABELS inputs)

add_test(NAME inputs.interrupted_plan COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/interrupt_plan.py
         $<TARGET_FILE:lockstep> ${PROJECT_SOURCE_DIR}/scenarios/gpt3_175b_interleaved)
set_tests_properties(inputs.interrupted_plan PROPERTIES LABELS inputs)

add_test(NAME inputs.pairwise COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/pairwise.py $<TARGET_FILE:lockstep>)
set_tests_properties(inputs.pairwise PROPERTIES LABELS inputs COST 1000)  # the longest one begins first

add_test(NAME inputs.integer_bounds COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/integer_bounds.py
         $<TARGET_FILE:lockstep>)
set_tests_properties(inputs.integer_bounds PROPERTIES LABELS inputs COST 200)

add_test(NAME inputs.installed COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/installed.py ${PROJECT_BINARY_DIR})
set_tests_properties(inputs.installed PROPERTIES LABELS inputs SKIP_RETURN_CODE 77)

add_test(NAME inputs.exported_answer COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/exported_answer.py
         $<TARGET_FILE:lockstep> ${PROJECT_SOURCE_DIR}/scenarios/gpt2_8xa100)
set_tests_properties(inputs.exported_answer PROPERTIES LABELS inputs)

add_test(NAME inputs.import_formats COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/import_formats.py
         $<TARGET_FILE:lockstep> ${CMAKE_CURRENT_LIST_DIR}/inputs/import)
add_test(NAME inputs.nsys_export COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/nsys_export.py $<TARGET_FILE:lockstep>)
set_tests_properties(inputs.import_formats inputs.nsys_export PROPERTIES LABELS inputs)
add_test(NAME inputs.hta COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/hta_test.py $<TARGET_FILE:lockstep>)
set_tests_properties(inputs.hta PROPERTIES LABELS inputs SKIP_RETURN_CODE 77)

add_test(NAME inputs.host_round_trip COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/host_round_trip.py
         $<TARGET_FILE:lockstep> ${PROJECT_SOURCE_DIR}/scenarios/gpt2_8xa100 a100_server)
set_tests_properties(inputs.host_round_trip PROPERTIES LABELS inputs)

# What a sweep survives. The case `mpi` needs mpirun and is skipped, with a line that says so, where there is none.
foreach(case failures killed interrupted changed damaged shards shared mpi)
  add_test(NAME sweep.${case} COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/sweep_processes.py
           $<TARGET_FILE:lockstep> ${PROJECT_SOURCE_DIR}/scenarios/dlrm_pcie ${case})
  set_tests_properties(sweep.${case} PROPERTIES LABELS inputs SKIP_RETURN_CODE 77 COST 200)
endforeach()

# Traces with holes: what is missing is said, and not computed with.
function(holes_test name arguments said)
  add_test(NAME inputs.holes.${name} COMMAND lockstep ${arguments} WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/inputs/traces/holes)
  set_tests_properties(inputs.holes.${name} PROPERTIES LABELS inputs PASS_REGULAR_EXPRESSION "${said}" ${ARGN})
endfunction()

holes_test(whole "replay;whole.json" "\n0         1.967      1.967")
holes_test(step_without_times "replay;step_without_times.json" "0         1.950      1.950.*ProfilerStep#2: missing 3 events of the host, 1 record of GPU work .*left out of the mean step.*4  event whose time was lost")
holes_test(operator_at_zero "replay;operator_at_zero.json" "0         1.967      1.967.*1  event whose time was lost.*aten::addmm, thread 5, at 0 us")
holes_test(steps_at_zero "replay;steps_at_zero.json" "ProfilerStep#1: missing its range; left out.*ProfilerStep#2: missing its range; left out.*2  event whose time was lost")
holes_test(overflowed "replay;overflowed.json" "0         1.967      1.967.*1  event far outside the window.*late, stream 7")
holes_test(overflowed_compared "compare;overflowed.json;whole.json" "A  overflowed.json: step 1.967 ms.*1 events left out.*ProfilerStep#2: missing 1 record of GPU work")
holes_test(last_step_at_zero "compare;last_step_at_zero.json;whole.json" "A  last_step_at_zero.json: step 1.950 ms, mean of 2.*ProfilerStep#3: missing its range; when it ends is not known")
holes_test(launch_at_zero "compare;launch_at_zero.json;whole.json" "A  launch_at_zero.json: step 1.967 ms.*1 events left out.*ProfilerStep#2: missing 1 event of the host")
holes_test(step_without_duration "replay;step_without_duration.json" "ProfilerStep#2: missing its range; left out of the mean step.*1  event without a time")
holes_test(around_zero "replay;around_zero.json" "\n0         1.967      1.967")
holes_test(window_without_records "replay;window_without_records.json;--set;what_if.gpu_speed=2" "not to be trusted: 2 launches or pieces of GPU work have no record")
holes_test(pairs "replay;pairs.json" "0         1.967      1.967")
holes_test(pairs_compared "compare;pairs.json;relative.json" "A  pairs.json: step 1.967 ms, mean of 3\nB  relative.json: step 1.967 ms, mean of 3\nboth steps")
holes_test(steps_as_pairs "replay;steps_as_pairs.json" "0         1.967      1.967.*1  begin or end without the other.*nobody")
holes_test(kernel_without_record "replay;kernel_without_record.json;--set;what_if.gpu_speed=2" "not to be trusted: GPU work of ProfilerStep#2 has no record.*1  launch whose GPU work has no record")
holes_test(after_the_window "import;kernel_without_record.json" "note             1  memset or copy without a record.*note             1  launch without GPU work: what it launched ran after the window")
holes_test(silence "replay;silence.json" "host: nothing recorded before aten::empty +5.000 ms.*GPU idle, work queued, before volta_sgemm +2.9")
holes_test(odd_quote "import;odd_quote.json" "3 pieces of GPU work.*1  event that cannot be parsed.*line 7")
holes_test(quote_and_newline "import;quote_and_newline.json" "3 pieces of GPU work.*1  event that cannot be parsed.*line 7")
holes_test(pipeline_negative "stragglers;pipeline_negative.json" "1  negative duration.*-33.50 us, optimizer of step 5, PP rank 0, TP rank 0")
holes_test(pipeline_lost "stragglers;pipeline_lost.json" "left out of the mean: step 6, of which times were lost")
holes_test(calibrate_host "calibrate;host;step_without_times.json" "4 events whose time was lost are left out")

# A schedule that is searched, and one that is swept.
add_test(NAME inputs.schedule_search COMMAND lockstep schedule ${PROJECT_SOURCE_DIR}/scenarios/dlrm_alternating_mlps
         --search "top_mlp in 0.25..1 by 0.25, phases <= 3, full >= 20 %, saved_flops <= 30 %" --no-timeline
         -o ${PROJECT_BINARY_DIR}/schedule_search)
set_tests_properties(inputs.schedule_search PROPERTIES LABELS inputs PASS_REGULAR_EXPRESSION
                     "found: [0-9.]+ min, [0-9.]+ % of the FLOPs saved.*keep: { top_mlp: 1 } }]")
add_test(NAME inputs.schedule_sweep COMMAND lockstep sweep ${PROJECT_SOURCE_DIR}/scenarios/dlrm_alternating_mlps
         --set schedule.phases.1.keep.top_mlp=0.5,0.75 -o ${PROJECT_BINARY_DIR}/schedule_sweep)
set_tests_properties(inputs.schedule_sweep PROPERTIES LABELS inputs PASS_REGULAR_EXPRESSION
                     "0.5 .* saves 15.59 % of the time with 33.78 % of the FLOPs")

# Attacks on obfuscated traces: teeth without, at most twice chance with obfuscation.
add_test(NAME synth.identification
         COMMAND python3 -B ${PROJECT_SOURCE_DIR}/bench/synth/identify.py $<TARGET_FILE:lockstep> --check)
set_tests_properties(synth.identification PROPERTIES LABELS inputs TIMEOUT 1200 COST 500)
