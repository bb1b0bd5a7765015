// Where the fields of the structs that grow lie: what a struct_size may end with. A field that volta.h
// appends has to be listed here, or its struct does not compile.
#pragma once

#include "engine/base/option_structs.h"
#include "include/volta.h"

namespace volta {

VOLTA_FIELDS(volta_context_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(allocator), VOLTA_FIELD(log),
             VOLTA_FIELD(log_user), VOLTA_FIELD(thread_count), VOLTA_FIELD(level), VOLTA_FIELD(isa),
             VOLTA_FIELD(flags), VOLTA_FIELD(tuning_folder), VOLTA_FIELD(device), VOLTA_FIELD(kernel_folder),
             VOLTA_FIELD(host_budget), VOLTA_FIELD(device_budget), VOLTA_FIELD(precision),
             VOLTA_FIELD(parallel_for), VOLTA_FIELD(parallel_user), VOLTA_FIELD(step_order));
VOLTA_FIELDS(volta_stop_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(cancel), VOLTA_FIELD(should_stop),
             VOLTA_FIELD(user), VOLTA_FIELD(max_seconds));
VOLTA_FIELDS(volta_context_info, VOLTA_FIELD(struct_size), VOLTA_FIELD(isa), VOLTA_FIELD(thread_count),
             VOLTA_FIELD(physical_cores), VOLTA_FIELD(jit_active), VOLTA_FIELD(plan_cache_hits),
             VOLTA_FIELD(plan_cache_misses), VOLTA_FIELD(allocation_count), VOLTA_FIELD(tensor_bytes),
             VOLTA_FIELD(tensor_bytes_peak), VOLTA_FIELD(code_bytes), VOLTA_FIELD(cpu), VOLTA_FIELD(level),
             VOLTA_FIELD(precision));
VOLTA_FIELDS(volta_comparison, VOLTA_FIELD(struct_size), VOLTA_FIELD(differing), VOLTA_FIELD(first),
             VOLTA_FIELD(largest_absolute), VOLTA_FIELD(largest_relative), VOLTA_FIELD(largest_ulps),
             VOLTA_FIELD(is_equal));
VOLTA_FIELDS(volta_device_info, VOLTA_FIELD(struct_size), VOLTA_FIELD(name), VOLTA_FIELD(description),
             VOLTA_FIELD(memory_bytes), VOLTA_FIELD(free_bytes), VOLTA_FIELD(multiprocessors),
             VOLTA_FIELD(capability_major), VOLTA_FIELD(capability_minor), VOLTA_FIELD(reserved),
             VOLTA_FIELD(copies_to_device), VOLTA_FIELD(bytes_to_device), VOLTA_FIELD(copies_to_host),
             VOLTA_FIELD(bytes_to_host), VOLTA_FIELD(launches), VOLTA_FIELD(bytes_in_use),
             VOLTA_FIELD(pinned_bytes));
VOLTA_FIELDS(volta_machine_speed, VOLTA_FIELD(struct_size), VOLTA_FIELD(isa), VOLTA_FIELD(thread_count),
             VOLTA_FIELD(fma_gflops), VOLTA_FIELD(fma_spread), VOLTA_FIELD(read_gb_s),
             VOLTA_FIELD(read_spread), VOLTA_FIELD(stream_gb_s), VOLTA_FIELD(stream_spread),
             VOLTA_FIELD(buffer_bytes));
VOLTA_FIELDS(volta_encode_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(ends), VOLTA_FIELD(special),
             VOLTA_FIELD(pair), VOLTA_FIELD(pair_bytes), VOLTA_FIELD(max_tokens), VOLTA_FIELD(segments));
VOLTA_FIELDS(volta_special_ids, VOLTA_FIELD(struct_size), VOLTA_FIELD(bos), VOLTA_FIELD(eos),
             VOLTA_FIELD(unk), VOLTA_FIELD(pad), VOLTA_FIELD(adds_bos), VOLTA_FIELD(adds_eos));
VOLTA_FIELDS(volta_gpt_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(vocabulary), VOLTA_FIELD(layers),
             VOLTA_FIELD(dim), VOLTA_FIELD(heads), VOLTA_FIELD(context), VOLTA_FIELD(dropout));
VOLTA_FIELDS(volta_llama_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(vocabulary), VOLTA_FIELD(layers),
             VOLTA_FIELD(dim), VOLTA_FIELD(heads), VOLTA_FIELD(kv_heads), VOLTA_FIELD(hidden),
             VOLTA_FIELD(context), VOLTA_FIELD(rope_base), VOLTA_FIELD(epsilon), VOLTA_FIELD(untied),
             VOLTA_FIELD(interleaved));
VOLTA_FIELDS(volta_bert_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(vocabulary), VOLTA_FIELD(layers),
             VOLTA_FIELD(dim), VOLTA_FIELD(heads), VOLTA_FIELD(hidden), VOLTA_FIELD(context),
             VOLTA_FIELD(segments), VOLTA_FIELD(classes), VOLTA_FIELD(dropout), VOLTA_FIELD(epsilon),
             VOLTA_FIELD(head), VOLTA_FIELD(segment_input), VOLTA_FIELD(mask_input));
VOLTA_FIELDS(volta_open_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(mode), VOLTA_FIELD(verify));
VOLTA_FIELDS(volta_lora_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(rank), VOLTA_FIELD(alpha),
             VOLTA_FIELD(targets), VOLTA_FIELD(seed));
VOLTA_FIELDS(volta_import_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(format), VOLTA_FIELD(tokenizer_path),
             VOLTA_FIELD(config_path), VOLTA_FIELD(key_map_path), VOLTA_FIELD(bert), VOLTA_FIELD(weights),
             VOLTA_FIELD(no_tokenizer), VOLTA_FIELD(resnet), VOLTA_FIELD(shapes), VOLTA_FIELD(shape_count),
             VOLTA_FIELD(network), VOLTA_FIELD(exact_graph));
VOLTA_FIELDS(volta_network_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(name), VOLTA_FIELD(classes),
             VOLTA_FIELD(channels), VOLTA_FIELD(rows), VOLTA_FIELD(columns), VOLTA_FIELD(width),
             VOLTA_FIELD(stem));
VOLTA_FIELDS(volta_resnet_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(depth), VOLTA_FIELD(classes),
             VOLTA_FIELD(channels), VOLTA_FIELD(rows), VOLTA_FIELD(columns), VOLTA_FIELD(stem));
VOLTA_FIELDS(volta_export_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(names), VOLTA_FIELD(config_path));
VOLTA_FIELDS(volta_onnx_export_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(opset),
             VOLTA_FIELD(inline_bytes));
VOLTA_FIELDS(volta_gguf_export_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(weights),
             VOLTA_FIELD(no_tokenizer));
VOLTA_FIELDS(volta_bill, VOLTA_FIELD(struct_size), VOLTA_FIELD(parameters), VOLTA_FIELD(gradients),
             VOLTA_FIELD(optimizer_state), VOLTA_FIELD(activations), VOLTA_FIELD(workspace),
             VOLTA_FIELD(staging), VOLTA_FIELD(total), VOLTA_FIELD(cache));
VOLTA_FIELDS(volta_session_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(input_shapes),
             VOLTA_FIELD(input_extent_count), VOLTA_FIELD(flags));
VOLTA_FIELDS(volta_trainer_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(input_shapes),
             VOLTA_FIELD(input_extent_count), VOLTA_FIELD(loss), VOLTA_FIELD(optimizer), VOLTA_FIELD(seed),
             VOLTA_FIELD(steps), VOLTA_FIELD(micro_batches), VOLTA_FIELD(schedule), VOLTA_FIELD(warmup_steps),
             VOLTA_FIELD(learning_rate), VOLTA_FIELD(final_learning_rate), VOLTA_FIELD(beta1),
             VOLTA_FIELD(beta2), VOLTA_FIELD(epsilon), VOLTA_FIELD(weight_decay),
             VOLTA_FIELD(decay_all_parameters), VOLTA_FIELD(momentum), VOLTA_FIELD(nesterov),
             VOLTA_FIELD(clip_norm), VOLTA_FIELD(nonfinite), VOLTA_FIELD(output_index),
             VOLTA_FIELD(label_smoothing), VOLTA_FIELD(class_weights), VOLTA_FIELD(class_weight_count),
             VOLTA_FIELD(huber_delta), VOLTA_FIELD(frozen), VOLTA_FIELD(frozen_count),
             VOLTA_FIELD(packed_documents), VOLTA_FIELD(activation_budget), VOLTA_FIELD(state_folder),
             VOLTA_FIELD(update_in_backward), VOLTA_FIELD(shards), VOLTA_FIELD(group));
VOLTA_FIELDS(volta_group_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(transport), VOLTA_FIELD(address),
             VOLTA_FIELD(rank), VOLTA_FIELD(size), VOLTA_FIELD(timeout), VOLTA_FIELD(exchange),
             VOLTA_FIELD(user), VOLTA_FIELD(library));
VOLTA_FIELDS(volta_training_cost, VOLTA_FIELD(struct_size), VOLTA_FIELD(operations),
             VOLTA_FIELD(repeated_operations), VOLTA_FIELD(bytes), VOLTA_FIELD(seconds),
             VOLTA_FIELD(smallest_activations));
VOLTA_FIELDS(volta_step_report, VOLTA_FIELD(struct_size), VOLTA_FIELD(step), VOLTA_FIELD(loss),
             VOLTA_FIELD(gradient_norm), VOLTA_FIELD(learning_rate), VOLTA_FIELD(wait_seconds),
             VOLTA_FIELD(exchange_seconds));
VOLTA_FIELDS(volta_tape_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(mode), VOLTA_FIELD(flags),
             VOLTA_FIELD(seed), VOLTA_FIELD(most_plans));
VOLTA_FIELDS(volta_optimizer_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(optimizer), VOLTA_FIELD(schedule),
             VOLTA_FIELD(steps), VOLTA_FIELD(warmup_steps), VOLTA_FIELD(learning_rate),
             VOLTA_FIELD(final_learning_rate), VOLTA_FIELD(beta1), VOLTA_FIELD(beta2), VOLTA_FIELD(epsilon),
             VOLTA_FIELD(weight_decay), VOLTA_FIELD(decay_all_parameters), VOLTA_FIELD(momentum),
             VOLTA_FIELD(nesterov), VOLTA_FIELD(clip_norm));
VOLTA_FIELDS(volta_capture_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(tensors), VOLTA_FIELD(names),
             VOLTA_FIELD(name_count), VOLTA_FIELD(output_names), VOLTA_FIELD(open_batch));
VOLTA_FIELDS(volta_compile_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(flags), VOLTA_FIELD(seed));
VOLTA_FIELDS(volta_tape_info, VOLTA_FIELD(struct_size), VOLTA_FIELD(records), VOLTA_FIELD(calls),
             VOLTA_FIELD(segments), VOLTA_FIELD(plans_known), VOLTA_FIELD(plans_made),
             VOLTA_FIELD(repeated_nodes), VOLTA_FIELD(traces), VOLTA_FIELD(held_bytes),
             VOLTA_FIELD(plans_held), VOLTA_FIELD(plans_released));
VOLTA_FIELDS(volta_generator_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(temperature), VOLTA_FIELD(top_k),
             VOLTA_FIELD(top_p), VOLTA_FIELD(min_p), VOLTA_FIELD(repetition_penalty), VOLTA_FIELD(seed),
             VOLTA_FIELD(sequences), VOLTA_FIELD(context), VOLTA_FIELD(prefill_chunk), VOLTA_FIELD(flags),
             VOLTA_FIELD(cache_tokens));
VOLTA_FIELDS(volta_token_cost, VOLTA_FIELD(struct_size), VOLTA_FIELD(parameter_bytes),
             VOLTA_FIELD(cache_bytes), VOLTA_FIELD(operations));
VOLTA_FIELDS(volta_sampling_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(temperature), VOLTA_FIELD(top_k),
             VOLTA_FIELD(top_p), VOLTA_FIELD(min_p), VOLTA_FIELD(repetition_penalty), VOLTA_FIELD(seed));
VOLTA_FIELDS(volta_write_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(max_tokens), VOLTA_FIELD(stop_tokens),
             VOLTA_FIELD(stop_token_count), VOLTA_FIELD(stop_texts), VOLTA_FIELD(stop_text_count),
             VOLTA_FIELD(max_seconds), VOLTA_FIELD(cancel), VOLTA_FIELD(on_text), VOLTA_FIELD(user),
             VOLTA_FIELD(flags));
VOLTA_FIELDS(volta_write_result, VOLTA_FIELD(struct_size), VOLTA_FIELD(reason), VOLTA_FIELD(stop_index),
             VOLTA_FIELD(token_count), VOLTA_FIELD(last_token), VOLTA_FIELD(unfinished_bytes),
             VOLTA_FIELD(text_bytes));
VOLTA_FIELDS(volta_tune_report, VOLTA_FIELD(struct_size), VOLTA_FIELD(index), VOLTA_FIELD(count),
             VOLTA_FIELD(share), VOLTA_FIELD(done), VOLTA_FIELD(has_epilogue), VOLTA_FIELD(shape),
             VOLTA_FIELD(batch), VOLTA_FIELD(default_seconds), VOLTA_FIELD(tuned_seconds),
             VOLTA_FIELD(classic_seconds), VOLTA_FIELD(plans_timed), VOLTA_FIELD(choice),
             VOLTA_FIELD(packed_once), VOLTA_FIELD(from_memory));
VOLTA_FIELDS(volta_tune_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(shapes), VOLTA_FIELD(shape_count),
             VOLTA_FIELD(session), VOLTA_FIELD(trainer), VOLTA_FIELD(runs), VOLTA_FIELD(warmup),
             VOLTA_FIELD(seconds), VOLTA_FIELD(progress), VOLTA_FIELD(user));
VOLTA_FIELDS(volta_profile_options, VOLTA_FIELD(struct_size), VOLTA_FIELD(capacity));
VOLTA_FIELDS(volta_profile_info, VOLTA_FIELD(struct_size), VOLTA_FIELD(event_count), VOLTA_FIELD(dropped),
             VOLTA_FIELD(operator_count), VOLTA_FIELD(thread_count), VOLTA_FIELD(duration_ns),
             VOLTA_FIELD(calls_ns), VOLTA_FIELD(steps_ns), VOLTA_FIELD(held_bytes_peak),
             VOLTA_FIELD(live_bytes_peak));
VOLTA_FIELDS(volta_profile_operator, VOLTA_FIELD(struct_size), VOLTA_FIELD(name), VOLTA_FIELD(calls),
             VOLTA_FIELD(total_ns), VOLTA_FIELD(share), VOLTA_FIELD(operations), VOLTA_FIELD(bytes));
VOLTA_FIELDS(volta_profile_event, VOLTA_FIELD(struct_size), VOLTA_FIELD(kind), VOLTA_FIELD(thread),
             VOLTA_FIELD(depth), VOLTA_FIELD(begin_ns), VOLTA_FIELD(end_ns), VOLTA_FIELD(name),
             VOLTA_FIELD(node), VOLTA_FIELD(kernel), VOLTA_FIELD(step), VOLTA_FIELD(value),
             VOLTA_FIELD(number), VOLTA_FIELD(operations), VOLTA_FIELD(bytes), VOLTA_FIELD(live_bytes),
             VOLTA_FIELD(held_bytes));

}  // namespace volta
