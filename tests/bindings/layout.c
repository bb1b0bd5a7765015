/* Size and offsets of every struct of the headers, one a line: NAME SIZE, NAME.FIELD OFFSET SIZE.
 * Printed by tools/print_bindings.py from the descriptions in api/, which say what the headers say. Not edited by hand. */
#include <stdio.h>
#include <volta_data.h>

int main(void) {
    printf("volta_allocator %zu\n", sizeof(volta_allocator));
    printf("volta_allocator.allocate %zu %zu\n", offsetof(volta_allocator, allocate),
           sizeof(((volta_allocator *)0)->allocate));
    printf("volta_allocator.release %zu %zu\n", offsetof(volta_allocator, release),
           sizeof(((volta_allocator *)0)->release));
    printf("volta_allocator.user %zu %zu\n", offsetof(volta_allocator, user),
           sizeof(((volta_allocator *)0)->user));
    printf("volta_context_options %zu\n", sizeof(volta_context_options));
    printf("volta_context_options.struct_size %zu %zu\n", offsetof(volta_context_options, struct_size),
           sizeof(((volta_context_options *)0)->struct_size));
    printf("volta_context_options.allocator %zu %zu\n", offsetof(volta_context_options, allocator),
           sizeof(((volta_context_options *)0)->allocator));
    printf("volta_context_options.log %zu %zu\n", offsetof(volta_context_options, log),
           sizeof(((volta_context_options *)0)->log));
    printf("volta_context_options.log_user %zu %zu\n", offsetof(volta_context_options, log_user),
           sizeof(((volta_context_options *)0)->log_user));
    printf("volta_context_options.thread_count %zu %zu\n", offsetof(volta_context_options, thread_count),
           sizeof(((volta_context_options *)0)->thread_count));
    printf("volta_context_options.level %zu %zu\n", offsetof(volta_context_options, level),
           sizeof(((volta_context_options *)0)->level));
    printf("volta_context_options.isa %zu %zu\n", offsetof(volta_context_options, isa),
           sizeof(((volta_context_options *)0)->isa));
    printf("volta_context_options.flags %zu %zu\n", offsetof(volta_context_options, flags),
           sizeof(((volta_context_options *)0)->flags));
    printf("volta_context_options.tuning_folder %zu %zu\n", offsetof(volta_context_options, tuning_folder),
           sizeof(((volta_context_options *)0)->tuning_folder));
    printf("volta_context_options.device %zu %zu\n", offsetof(volta_context_options, device),
           sizeof(((volta_context_options *)0)->device));
    printf("volta_context_options.kernel_folder %zu %zu\n", offsetof(volta_context_options, kernel_folder),
           sizeof(((volta_context_options *)0)->kernel_folder));
    printf("volta_context_options.host_budget %zu %zu\n", offsetof(volta_context_options, host_budget),
           sizeof(((volta_context_options *)0)->host_budget));
    printf("volta_context_options.device_budget %zu %zu\n", offsetof(volta_context_options, device_budget),
           sizeof(((volta_context_options *)0)->device_budget));
    printf("volta_context_options.precision %zu %zu\n", offsetof(volta_context_options, precision),
           sizeof(((volta_context_options *)0)->precision));
    printf("volta_context_options.parallel_for %zu %zu\n", offsetof(volta_context_options, parallel_for),
           sizeof(((volta_context_options *)0)->parallel_for));
    printf("volta_context_options.parallel_user %zu %zu\n", offsetof(volta_context_options, parallel_user),
           sizeof(((volta_context_options *)0)->parallel_user));
    printf("volta_context_options.step_order %zu %zu\n", offsetof(volta_context_options, step_order),
           sizeof(((volta_context_options *)0)->step_order));
    printf("volta_context_info %zu\n", sizeof(volta_context_info));
    printf("volta_context_info.struct_size %zu %zu\n", offsetof(volta_context_info, struct_size),
           sizeof(((volta_context_info *)0)->struct_size));
    printf("volta_context_info.isa %zu %zu\n", offsetof(volta_context_info, isa),
           sizeof(((volta_context_info *)0)->isa));
    printf("volta_context_info.thread_count %zu %zu\n", offsetof(volta_context_info, thread_count),
           sizeof(((volta_context_info *)0)->thread_count));
    printf("volta_context_info.physical_cores %zu %zu\n", offsetof(volta_context_info, physical_cores),
           sizeof(((volta_context_info *)0)->physical_cores));
    printf("volta_context_info.jit_active %zu %zu\n", offsetof(volta_context_info, jit_active),
           sizeof(((volta_context_info *)0)->jit_active));
    printf("volta_context_info.plan_cache_hits %zu %zu\n", offsetof(volta_context_info, plan_cache_hits),
           sizeof(((volta_context_info *)0)->plan_cache_hits));
    printf("volta_context_info.plan_cache_misses %zu %zu\n", offsetof(volta_context_info, plan_cache_misses),
           sizeof(((volta_context_info *)0)->plan_cache_misses));
    printf("volta_context_info.allocation_count %zu %zu\n", offsetof(volta_context_info, allocation_count),
           sizeof(((volta_context_info *)0)->allocation_count));
    printf("volta_context_info.tensor_bytes %zu %zu\n", offsetof(volta_context_info, tensor_bytes),
           sizeof(((volta_context_info *)0)->tensor_bytes));
    printf("volta_context_info.tensor_bytes_peak %zu %zu\n", offsetof(volta_context_info, tensor_bytes_peak),
           sizeof(((volta_context_info *)0)->tensor_bytes_peak));
    printf("volta_context_info.code_bytes %zu %zu\n", offsetof(volta_context_info, code_bytes),
           sizeof(((volta_context_info *)0)->code_bytes));
    printf("volta_context_info.cpu %zu %zu\n", offsetof(volta_context_info, cpu),
           sizeof(((volta_context_info *)0)->cpu));
    printf("volta_context_info.level %zu %zu\n", offsetof(volta_context_info, level),
           sizeof(((volta_context_info *)0)->level));
    printf("volta_context_info.precision %zu %zu\n", offsetof(volta_context_info, precision),
           sizeof(((volta_context_info *)0)->precision));
    printf("volta_cancel %zu\n", sizeof(volta_cancel));
    printf("volta_cancel.requested %zu %zu\n", offsetof(volta_cancel, requested),
           sizeof(((volta_cancel *)0)->requested));
    printf("volta_stop_options %zu\n", sizeof(volta_stop_options));
    printf("volta_stop_options.struct_size %zu %zu\n", offsetof(volta_stop_options, struct_size),
           sizeof(((volta_stop_options *)0)->struct_size));
    printf("volta_stop_options.cancel %zu %zu\n", offsetof(volta_stop_options, cancel),
           sizeof(((volta_stop_options *)0)->cancel));
    printf("volta_stop_options.should_stop %zu %zu\n", offsetof(volta_stop_options, should_stop),
           sizeof(((volta_stop_options *)0)->should_stop));
    printf("volta_stop_options.user %zu %zu\n", offsetof(volta_stop_options, user),
           sizeof(((volta_stop_options *)0)->user));
    printf("volta_stop_options.max_seconds %zu %zu\n", offsetof(volta_stop_options, max_seconds),
           sizeof(((volta_stop_options *)0)->max_seconds));
    printf("volta_device_info %zu\n", sizeof(volta_device_info));
    printf("volta_device_info.struct_size %zu %zu\n", offsetof(volta_device_info, struct_size),
           sizeof(((volta_device_info *)0)->struct_size));
    printf("volta_device_info.name %zu %zu\n", offsetof(volta_device_info, name),
           sizeof(((volta_device_info *)0)->name));
    printf("volta_device_info.description %zu %zu\n", offsetof(volta_device_info, description),
           sizeof(((volta_device_info *)0)->description));
    printf("volta_device_info.memory_bytes %zu %zu\n", offsetof(volta_device_info, memory_bytes),
           sizeof(((volta_device_info *)0)->memory_bytes));
    printf("volta_device_info.free_bytes %zu %zu\n", offsetof(volta_device_info, free_bytes),
           sizeof(((volta_device_info *)0)->free_bytes));
    printf("volta_device_info.multiprocessors %zu %zu\n", offsetof(volta_device_info, multiprocessors),
           sizeof(((volta_device_info *)0)->multiprocessors));
    printf("volta_device_info.capability_major %zu %zu\n", offsetof(volta_device_info, capability_major),
           sizeof(((volta_device_info *)0)->capability_major));
    printf("volta_device_info.capability_minor %zu %zu\n", offsetof(volta_device_info, capability_minor),
           sizeof(((volta_device_info *)0)->capability_minor));
    printf("volta_device_info.reserved %zu %zu\n", offsetof(volta_device_info, reserved),
           sizeof(((volta_device_info *)0)->reserved));
    printf("volta_device_info.copies_to_device %zu %zu\n", offsetof(volta_device_info, copies_to_device),
           sizeof(((volta_device_info *)0)->copies_to_device));
    printf("volta_device_info.bytes_to_device %zu %zu\n", offsetof(volta_device_info, bytes_to_device),
           sizeof(((volta_device_info *)0)->bytes_to_device));
    printf("volta_device_info.copies_to_host %zu %zu\n", offsetof(volta_device_info, copies_to_host),
           sizeof(((volta_device_info *)0)->copies_to_host));
    printf("volta_device_info.bytes_to_host %zu %zu\n", offsetof(volta_device_info, bytes_to_host),
           sizeof(((volta_device_info *)0)->bytes_to_host));
    printf("volta_device_info.launches %zu %zu\n", offsetof(volta_device_info, launches),
           sizeof(((volta_device_info *)0)->launches));
    printf("volta_device_info.bytes_in_use %zu %zu\n", offsetof(volta_device_info, bytes_in_use),
           sizeof(((volta_device_info *)0)->bytes_in_use));
    printf("volta_device_info.pinned_bytes %zu %zu\n", offsetof(volta_device_info, pinned_bytes),
           sizeof(((volta_device_info *)0)->pinned_bytes));
    printf("volta_machine_speed %zu\n", sizeof(volta_machine_speed));
    printf("volta_machine_speed.struct_size %zu %zu\n", offsetof(volta_machine_speed, struct_size),
           sizeof(((volta_machine_speed *)0)->struct_size));
    printf("volta_machine_speed.isa %zu %zu\n", offsetof(volta_machine_speed, isa),
           sizeof(((volta_machine_speed *)0)->isa));
    printf("volta_machine_speed.thread_count %zu %zu\n", offsetof(volta_machine_speed, thread_count),
           sizeof(((volta_machine_speed *)0)->thread_count));
    printf("volta_machine_speed.fma_gflops %zu %zu\n", offsetof(volta_machine_speed, fma_gflops),
           sizeof(((volta_machine_speed *)0)->fma_gflops));
    printf("volta_machine_speed.fma_spread %zu %zu\n", offsetof(volta_machine_speed, fma_spread),
           sizeof(((volta_machine_speed *)0)->fma_spread));
    printf("volta_machine_speed.read_gb_s %zu %zu\n", offsetof(volta_machine_speed, read_gb_s),
           sizeof(((volta_machine_speed *)0)->read_gb_s));
    printf("volta_machine_speed.read_spread %zu %zu\n", offsetof(volta_machine_speed, read_spread),
           sizeof(((volta_machine_speed *)0)->read_spread));
    printf("volta_machine_speed.stream_gb_s %zu %zu\n", offsetof(volta_machine_speed, stream_gb_s),
           sizeof(((volta_machine_speed *)0)->stream_gb_s));
    printf("volta_machine_speed.stream_spread %zu %zu\n", offsetof(volta_machine_speed, stream_spread),
           sizeof(((volta_machine_speed *)0)->stream_spread));
    printf("volta_machine_speed.buffer_bytes %zu %zu\n", offsetof(volta_machine_speed, buffer_bytes),
           sizeof(((volta_machine_speed *)0)->buffer_bytes));
    printf("volta_init %zu\n", sizeof(volta_init));
    printf("volta_init.kind %zu %zu\n", offsetof(volta_init, kind),
           sizeof(((volta_init *)0)->kind));
    printf("volta_init.a %zu %zu\n", offsetof(volta_init, a),
           sizeof(((volta_init *)0)->a));
    printf("volta_init.b %zu %zu\n", offsetof(volta_init, b),
           sizeof(((volta_init *)0)->b));
    printf("volta_comparison %zu\n", sizeof(volta_comparison));
    printf("volta_comparison.struct_size %zu %zu\n", offsetof(volta_comparison, struct_size),
           sizeof(((volta_comparison *)0)->struct_size));
    printf("volta_comparison.differing %zu %zu\n", offsetof(volta_comparison, differing),
           sizeof(((volta_comparison *)0)->differing));
    printf("volta_comparison.first %zu %zu\n", offsetof(volta_comparison, first),
           sizeof(((volta_comparison *)0)->first));
    printf("volta_comparison.largest_absolute %zu %zu\n", offsetof(volta_comparison, largest_absolute),
           sizeof(((volta_comparison *)0)->largest_absolute));
    printf("volta_comparison.largest_relative %zu %zu\n", offsetof(volta_comparison, largest_relative),
           sizeof(((volta_comparison *)0)->largest_relative));
    printf("volta_comparison.largest_ulps %zu %zu\n", offsetof(volta_comparison, largest_ulps),
           sizeof(((volta_comparison *)0)->largest_ulps));
    printf("volta_comparison.is_equal %zu %zu\n", offsetof(volta_comparison, is_equal),
           sizeof(((volta_comparison *)0)->is_equal));
    printf("volta_value %zu\n", sizeof(volta_value));
    printf("volta_value.id %zu %zu\n", offsetof(volta_value, id),
           sizeof(((volta_value *)0)->id));
    printf("volta_attribute %zu\n", sizeof(volta_attribute));
    printf("volta_attribute.name %zu %zu\n", offsetof(volta_attribute, name),
           sizeof(((volta_attribute *)0)->name));
    printf("volta_attribute.number %zu %zu\n", offsetof(volta_attribute, number),
           sizeof(((volta_attribute *)0)->number));
    printf("volta_attribute.integers %zu %zu\n", offsetof(volta_attribute, integers),
           sizeof(((volta_attribute *)0)->integers));
    printf("volta_attribute.integer_count %zu %zu\n", offsetof(volta_attribute, integer_count),
           sizeof(((volta_attribute *)0)->integer_count));
    printf("volta_encode_options %zu\n", sizeof(volta_encode_options));
    printf("volta_encode_options.struct_size %zu %zu\n", offsetof(volta_encode_options, struct_size),
           sizeof(((volta_encode_options *)0)->struct_size));
    printf("volta_encode_options.ends %zu %zu\n", offsetof(volta_encode_options, ends),
           sizeof(((volta_encode_options *)0)->ends));
    printf("volta_encode_options.special %zu %zu\n", offsetof(volta_encode_options, special),
           sizeof(((volta_encode_options *)0)->special));
    printf("volta_encode_options.pair %zu %zu\n", offsetof(volta_encode_options, pair),
           sizeof(((volta_encode_options *)0)->pair));
    printf("volta_encode_options.pair_bytes %zu %zu\n", offsetof(volta_encode_options, pair_bytes),
           sizeof(((volta_encode_options *)0)->pair_bytes));
    printf("volta_encode_options.max_tokens %zu %zu\n", offsetof(volta_encode_options, max_tokens),
           sizeof(((volta_encode_options *)0)->max_tokens));
    printf("volta_encode_options.segments %zu %zu\n", offsetof(volta_encode_options, segments),
           sizeof(((volta_encode_options *)0)->segments));
    printf("volta_special_ids %zu\n", sizeof(volta_special_ids));
    printf("volta_special_ids.struct_size %zu %zu\n", offsetof(volta_special_ids, struct_size),
           sizeof(((volta_special_ids *)0)->struct_size));
    printf("volta_special_ids.bos %zu %zu\n", offsetof(volta_special_ids, bos),
           sizeof(((volta_special_ids *)0)->bos));
    printf("volta_special_ids.eos %zu %zu\n", offsetof(volta_special_ids, eos),
           sizeof(((volta_special_ids *)0)->eos));
    printf("volta_special_ids.unk %zu %zu\n", offsetof(volta_special_ids, unk),
           sizeof(((volta_special_ids *)0)->unk));
    printf("volta_special_ids.pad %zu %zu\n", offsetof(volta_special_ids, pad),
           sizeof(((volta_special_ids *)0)->pad));
    printf("volta_special_ids.adds_bos %zu %zu\n", offsetof(volta_special_ids, adds_bos),
           sizeof(((volta_special_ids *)0)->adds_bos));
    printf("volta_special_ids.adds_eos %zu %zu\n", offsetof(volta_special_ids, adds_eos),
           sizeof(((volta_special_ids *)0)->adds_eos));
    printf("volta_gpt_options %zu\n", sizeof(volta_gpt_options));
    printf("volta_gpt_options.struct_size %zu %zu\n", offsetof(volta_gpt_options, struct_size),
           sizeof(((volta_gpt_options *)0)->struct_size));
    printf("volta_gpt_options.vocabulary %zu %zu\n", offsetof(volta_gpt_options, vocabulary),
           sizeof(((volta_gpt_options *)0)->vocabulary));
    printf("volta_gpt_options.layers %zu %zu\n", offsetof(volta_gpt_options, layers),
           sizeof(((volta_gpt_options *)0)->layers));
    printf("volta_gpt_options.dim %zu %zu\n", offsetof(volta_gpt_options, dim),
           sizeof(((volta_gpt_options *)0)->dim));
    printf("volta_gpt_options.heads %zu %zu\n", offsetof(volta_gpt_options, heads),
           sizeof(((volta_gpt_options *)0)->heads));
    printf("volta_gpt_options.context %zu %zu\n", offsetof(volta_gpt_options, context),
           sizeof(((volta_gpt_options *)0)->context));
    printf("volta_gpt_options.dropout %zu %zu\n", offsetof(volta_gpt_options, dropout),
           sizeof(((volta_gpt_options *)0)->dropout));
    printf("volta_llama_options %zu\n", sizeof(volta_llama_options));
    printf("volta_llama_options.struct_size %zu %zu\n", offsetof(volta_llama_options, struct_size),
           sizeof(((volta_llama_options *)0)->struct_size));
    printf("volta_llama_options.vocabulary %zu %zu\n", offsetof(volta_llama_options, vocabulary),
           sizeof(((volta_llama_options *)0)->vocabulary));
    printf("volta_llama_options.layers %zu %zu\n", offsetof(volta_llama_options, layers),
           sizeof(((volta_llama_options *)0)->layers));
    printf("volta_llama_options.dim %zu %zu\n", offsetof(volta_llama_options, dim),
           sizeof(((volta_llama_options *)0)->dim));
    printf("volta_llama_options.heads %zu %zu\n", offsetof(volta_llama_options, heads),
           sizeof(((volta_llama_options *)0)->heads));
    printf("volta_llama_options.kv_heads %zu %zu\n", offsetof(volta_llama_options, kv_heads),
           sizeof(((volta_llama_options *)0)->kv_heads));
    printf("volta_llama_options.hidden %zu %zu\n", offsetof(volta_llama_options, hidden),
           sizeof(((volta_llama_options *)0)->hidden));
    printf("volta_llama_options.context %zu %zu\n", offsetof(volta_llama_options, context),
           sizeof(((volta_llama_options *)0)->context));
    printf("volta_llama_options.rope_base %zu %zu\n", offsetof(volta_llama_options, rope_base),
           sizeof(((volta_llama_options *)0)->rope_base));
    printf("volta_llama_options.epsilon %zu %zu\n", offsetof(volta_llama_options, epsilon),
           sizeof(((volta_llama_options *)0)->epsilon));
    printf("volta_llama_options.untied %zu %zu\n", offsetof(volta_llama_options, untied),
           sizeof(((volta_llama_options *)0)->untied));
    printf("volta_llama_options.interleaved %zu %zu\n", offsetof(volta_llama_options, interleaved),
           sizeof(((volta_llama_options *)0)->interleaved));
    printf("volta_bert_options %zu\n", sizeof(volta_bert_options));
    printf("volta_bert_options.struct_size %zu %zu\n", offsetof(volta_bert_options, struct_size),
           sizeof(((volta_bert_options *)0)->struct_size));
    printf("volta_bert_options.vocabulary %zu %zu\n", offsetof(volta_bert_options, vocabulary),
           sizeof(((volta_bert_options *)0)->vocabulary));
    printf("volta_bert_options.layers %zu %zu\n", offsetof(volta_bert_options, layers),
           sizeof(((volta_bert_options *)0)->layers));
    printf("volta_bert_options.dim %zu %zu\n", offsetof(volta_bert_options, dim),
           sizeof(((volta_bert_options *)0)->dim));
    printf("volta_bert_options.heads %zu %zu\n", offsetof(volta_bert_options, heads),
           sizeof(((volta_bert_options *)0)->heads));
    printf("volta_bert_options.hidden %zu %zu\n", offsetof(volta_bert_options, hidden),
           sizeof(((volta_bert_options *)0)->hidden));
    printf("volta_bert_options.context %zu %zu\n", offsetof(volta_bert_options, context),
           sizeof(((volta_bert_options *)0)->context));
    printf("volta_bert_options.segments %zu %zu\n", offsetof(volta_bert_options, segments),
           sizeof(((volta_bert_options *)0)->segments));
    printf("volta_bert_options.classes %zu %zu\n", offsetof(volta_bert_options, classes),
           sizeof(((volta_bert_options *)0)->classes));
    printf("volta_bert_options.dropout %zu %zu\n", offsetof(volta_bert_options, dropout),
           sizeof(((volta_bert_options *)0)->dropout));
    printf("volta_bert_options.epsilon %zu %zu\n", offsetof(volta_bert_options, epsilon),
           sizeof(((volta_bert_options *)0)->epsilon));
    printf("volta_bert_options.head %zu %zu\n", offsetof(volta_bert_options, head),
           sizeof(((volta_bert_options *)0)->head));
    printf("volta_bert_options.segment_input %zu %zu\n", offsetof(volta_bert_options, segment_input),
           sizeof(((volta_bert_options *)0)->segment_input));
    printf("volta_bert_options.mask_input %zu %zu\n", offsetof(volta_bert_options, mask_input),
           sizeof(((volta_bert_options *)0)->mask_input));
    printf("volta_resnet_options %zu\n", sizeof(volta_resnet_options));
    printf("volta_resnet_options.struct_size %zu %zu\n", offsetof(volta_resnet_options, struct_size),
           sizeof(((volta_resnet_options *)0)->struct_size));
    printf("volta_resnet_options.depth %zu %zu\n", offsetof(volta_resnet_options, depth),
           sizeof(((volta_resnet_options *)0)->depth));
    printf("volta_resnet_options.classes %zu %zu\n", offsetof(volta_resnet_options, classes),
           sizeof(((volta_resnet_options *)0)->classes));
    printf("volta_resnet_options.channels %zu %zu\n", offsetof(volta_resnet_options, channels),
           sizeof(((volta_resnet_options *)0)->channels));
    printf("volta_resnet_options.rows %zu %zu\n", offsetof(volta_resnet_options, rows),
           sizeof(((volta_resnet_options *)0)->rows));
    printf("volta_resnet_options.columns %zu %zu\n", offsetof(volta_resnet_options, columns),
           sizeof(((volta_resnet_options *)0)->columns));
    printf("volta_resnet_options.stem %zu %zu\n", offsetof(volta_resnet_options, stem),
           sizeof(((volta_resnet_options *)0)->stem));
    printf("volta_network_options %zu\n", sizeof(volta_network_options));
    printf("volta_network_options.struct_size %zu %zu\n", offsetof(volta_network_options, struct_size),
           sizeof(((volta_network_options *)0)->struct_size));
    printf("volta_network_options.name %zu %zu\n", offsetof(volta_network_options, name),
           sizeof(((volta_network_options *)0)->name));
    printf("volta_network_options.classes %zu %zu\n", offsetof(volta_network_options, classes),
           sizeof(((volta_network_options *)0)->classes));
    printf("volta_network_options.channels %zu %zu\n", offsetof(volta_network_options, channels),
           sizeof(((volta_network_options *)0)->channels));
    printf("volta_network_options.rows %zu %zu\n", offsetof(volta_network_options, rows),
           sizeof(((volta_network_options *)0)->rows));
    printf("volta_network_options.columns %zu %zu\n", offsetof(volta_network_options, columns),
           sizeof(((volta_network_options *)0)->columns));
    printf("volta_network_options.width %zu %zu\n", offsetof(volta_network_options, width),
           sizeof(((volta_network_options *)0)->width));
    printf("volta_network_options.stem %zu %zu\n", offsetof(volta_network_options, stem),
           sizeof(((volta_network_options *)0)->stem));
    printf("volta_open_options %zu\n", sizeof(volta_open_options));
    printf("volta_open_options.struct_size %zu %zu\n", offsetof(volta_open_options, struct_size),
           sizeof(((volta_open_options *)0)->struct_size));
    printf("volta_open_options.mode %zu %zu\n", offsetof(volta_open_options, mode),
           sizeof(((volta_open_options *)0)->mode));
    printf("volta_open_options.verify %zu %zu\n", offsetof(volta_open_options, verify),
           sizeof(((volta_open_options *)0)->verify));
    printf("volta_input_shape %zu\n", sizeof(volta_input_shape));
    printf("volta_input_shape.name %zu %zu\n", offsetof(volta_input_shape, name),
           sizeof(((volta_input_shape *)0)->name));
    printf("volta_input_shape.rank %zu %zu\n", offsetof(volta_input_shape, rank),
           sizeof(((volta_input_shape *)0)->rank));
    printf("volta_input_shape.shape %zu %zu\n", offsetof(volta_input_shape, shape),
           sizeof(((volta_input_shape *)0)->shape));
    printf("volta_import_options %zu\n", sizeof(volta_import_options));
    printf("volta_import_options.struct_size %zu %zu\n", offsetof(volta_import_options, struct_size),
           sizeof(((volta_import_options *)0)->struct_size));
    printf("volta_import_options.format %zu %zu\n", offsetof(volta_import_options, format),
           sizeof(((volta_import_options *)0)->format));
    printf("volta_import_options.tokenizer_path %zu %zu\n", offsetof(volta_import_options, tokenizer_path),
           sizeof(((volta_import_options *)0)->tokenizer_path));
    printf("volta_import_options.config_path %zu %zu\n", offsetof(volta_import_options, config_path),
           sizeof(((volta_import_options *)0)->config_path));
    printf("volta_import_options.key_map_path %zu %zu\n", offsetof(volta_import_options, key_map_path),
           sizeof(((volta_import_options *)0)->key_map_path));
    printf("volta_import_options.bert %zu %zu\n", offsetof(volta_import_options, bert),
           sizeof(((volta_import_options *)0)->bert));
    printf("volta_import_options.weights %zu %zu\n", offsetof(volta_import_options, weights),
           sizeof(((volta_import_options *)0)->weights));
    printf("volta_import_options.no_tokenizer %zu %zu\n", offsetof(volta_import_options, no_tokenizer),
           sizeof(((volta_import_options *)0)->no_tokenizer));
    printf("volta_import_options.resnet %zu %zu\n", offsetof(volta_import_options, resnet),
           sizeof(((volta_import_options *)0)->resnet));
    printf("volta_import_options.shapes %zu %zu\n", offsetof(volta_import_options, shapes),
           sizeof(((volta_import_options *)0)->shapes));
    printf("volta_import_options.shape_count %zu %zu\n", offsetof(volta_import_options, shape_count),
           sizeof(((volta_import_options *)0)->shape_count));
    printf("volta_import_options.network %zu %zu\n", offsetof(volta_import_options, network),
           sizeof(((volta_import_options *)0)->network));
    printf("volta_import_options.exact_graph %zu %zu\n", offsetof(volta_import_options, exact_graph),
           sizeof(((volta_import_options *)0)->exact_graph));
    printf("volta_export_options %zu\n", sizeof(volta_export_options));
    printf("volta_export_options.struct_size %zu %zu\n", offsetof(volta_export_options, struct_size),
           sizeof(((volta_export_options *)0)->struct_size));
    printf("volta_export_options.names %zu %zu\n", offsetof(volta_export_options, names),
           sizeof(((volta_export_options *)0)->names));
    printf("volta_export_options.config_path %zu %zu\n", offsetof(volta_export_options, config_path),
           sizeof(((volta_export_options *)0)->config_path));
    printf("volta_onnx_export_options %zu\n", sizeof(volta_onnx_export_options));
    printf("volta_onnx_export_options.struct_size %zu %zu\n", offsetof(volta_onnx_export_options, struct_size),
           sizeof(((volta_onnx_export_options *)0)->struct_size));
    printf("volta_onnx_export_options.opset %zu %zu\n", offsetof(volta_onnx_export_options, opset),
           sizeof(((volta_onnx_export_options *)0)->opset));
    printf("volta_onnx_export_options.inline_bytes %zu %zu\n", offsetof(volta_onnx_export_options, inline_bytes),
           sizeof(((volta_onnx_export_options *)0)->inline_bytes));
    printf("volta_gguf_export_options %zu\n", sizeof(volta_gguf_export_options));
    printf("volta_gguf_export_options.struct_size %zu %zu\n", offsetof(volta_gguf_export_options, struct_size),
           sizeof(((volta_gguf_export_options *)0)->struct_size));
    printf("volta_gguf_export_options.weights %zu %zu\n", offsetof(volta_gguf_export_options, weights),
           sizeof(((volta_gguf_export_options *)0)->weights));
    printf("volta_gguf_export_options.no_tokenizer %zu %zu\n", offsetof(volta_gguf_export_options, no_tokenizer),
           sizeof(((volta_gguf_export_options *)0)->no_tokenizer));
    printf("volta_lora_options %zu\n", sizeof(volta_lora_options));
    printf("volta_lora_options.struct_size %zu %zu\n", offsetof(volta_lora_options, struct_size),
           sizeof(((volta_lora_options *)0)->struct_size));
    printf("volta_lora_options.rank %zu %zu\n", offsetof(volta_lora_options, rank),
           sizeof(((volta_lora_options *)0)->rank));
    printf("volta_lora_options.alpha %zu %zu\n", offsetof(volta_lora_options, alpha),
           sizeof(((volta_lora_options *)0)->alpha));
    printf("volta_lora_options.targets %zu %zu\n", offsetof(volta_lora_options, targets),
           sizeof(((volta_lora_options *)0)->targets));
    printf("volta_lora_options.seed %zu %zu\n", offsetof(volta_lora_options, seed),
           sizeof(((volta_lora_options *)0)->seed));
    printf("volta_tensor_info %zu\n", sizeof(volta_tensor_info));
    printf("volta_tensor_info.name %zu %zu\n", offsetof(volta_tensor_info, name),
           sizeof(((volta_tensor_info *)0)->name));
    printf("volta_tensor_info.dtype %zu %zu\n", offsetof(volta_tensor_info, dtype),
           sizeof(((volta_tensor_info *)0)->dtype));
    printf("volta_tensor_info.rank %zu %zu\n", offsetof(volta_tensor_info, rank),
           sizeof(((volta_tensor_info *)0)->rank));
    printf("volta_tensor_info.shape %zu %zu\n", offsetof(volta_tensor_info, shape),
           sizeof(((volta_tensor_info *)0)->shape));
    printf("volta_chat_message %zu\n", sizeof(volta_chat_message));
    printf("volta_chat_message.role %zu %zu\n", offsetof(volta_chat_message, role),
           sizeof(((volta_chat_message *)0)->role));
    printf("volta_chat_message.content %zu %zu\n", offsetof(volta_chat_message, content),
           sizeof(((volta_chat_message *)0)->content));
    printf("volta_bill %zu\n", sizeof(volta_bill));
    printf("volta_bill.struct_size %zu %zu\n", offsetof(volta_bill, struct_size),
           sizeof(((volta_bill *)0)->struct_size));
    printf("volta_bill.parameters %zu %zu\n", offsetof(volta_bill, parameters),
           sizeof(((volta_bill *)0)->parameters));
    printf("volta_bill.gradients %zu %zu\n", offsetof(volta_bill, gradients),
           sizeof(((volta_bill *)0)->gradients));
    printf("volta_bill.optimizer_state %zu %zu\n", offsetof(volta_bill, optimizer_state),
           sizeof(((volta_bill *)0)->optimizer_state));
    printf("volta_bill.activations %zu %zu\n", offsetof(volta_bill, activations),
           sizeof(((volta_bill *)0)->activations));
    printf("volta_bill.workspace %zu %zu\n", offsetof(volta_bill, workspace),
           sizeof(((volta_bill *)0)->workspace));
    printf("volta_bill.staging %zu %zu\n", offsetof(volta_bill, staging),
           sizeof(((volta_bill *)0)->staging));
    printf("volta_bill.total %zu %zu\n", offsetof(volta_bill, total),
           sizeof(((volta_bill *)0)->total));
    printf("volta_bill.cache %zu %zu\n", offsetof(volta_bill, cache),
           sizeof(((volta_bill *)0)->cache));
    printf("volta_session_options %zu\n", sizeof(volta_session_options));
    printf("volta_session_options.struct_size %zu %zu\n", offsetof(volta_session_options, struct_size),
           sizeof(((volta_session_options *)0)->struct_size));
    printf("volta_session_options.input_shapes %zu %zu\n", offsetof(volta_session_options, input_shapes),
           sizeof(((volta_session_options *)0)->input_shapes));
    printf("volta_session_options.input_extent_count %zu %zu\n", offsetof(volta_session_options, input_extent_count),
           sizeof(((volta_session_options *)0)->input_extent_count));
    printf("volta_session_options.flags %zu %zu\n", offsetof(volta_session_options, flags),
           sizeof(((volta_session_options *)0)->flags));
    printf("volta_group_options %zu\n", sizeof(volta_group_options));
    printf("volta_group_options.struct_size %zu %zu\n", offsetof(volta_group_options, struct_size),
           sizeof(((volta_group_options *)0)->struct_size));
    printf("volta_group_options.transport %zu %zu\n", offsetof(volta_group_options, transport),
           sizeof(((volta_group_options *)0)->transport));
    printf("volta_group_options.address %zu %zu\n", offsetof(volta_group_options, address),
           sizeof(((volta_group_options *)0)->address));
    printf("volta_group_options.rank %zu %zu\n", offsetof(volta_group_options, rank),
           sizeof(((volta_group_options *)0)->rank));
    printf("volta_group_options.size %zu %zu\n", offsetof(volta_group_options, size),
           sizeof(((volta_group_options *)0)->size));
    printf("volta_group_options.timeout %zu %zu\n", offsetof(volta_group_options, timeout),
           sizeof(((volta_group_options *)0)->timeout));
    printf("volta_group_options.exchange %zu %zu\n", offsetof(volta_group_options, exchange),
           sizeof(((volta_group_options *)0)->exchange));
    printf("volta_group_options.user %zu %zu\n", offsetof(volta_group_options, user),
           sizeof(((volta_group_options *)0)->user));
    printf("volta_group_options.library %zu %zu\n", offsetof(volta_group_options, library),
           sizeof(((volta_group_options *)0)->library));
    printf("volta_trainer_options %zu\n", sizeof(volta_trainer_options));
    printf("volta_trainer_options.struct_size %zu %zu\n", offsetof(volta_trainer_options, struct_size),
           sizeof(((volta_trainer_options *)0)->struct_size));
    printf("volta_trainer_options.input_shapes %zu %zu\n", offsetof(volta_trainer_options, input_shapes),
           sizeof(((volta_trainer_options *)0)->input_shapes));
    printf("volta_trainer_options.input_extent_count %zu %zu\n", offsetof(volta_trainer_options, input_extent_count),
           sizeof(((volta_trainer_options *)0)->input_extent_count));
    printf("volta_trainer_options.loss %zu %zu\n", offsetof(volta_trainer_options, loss),
           sizeof(((volta_trainer_options *)0)->loss));
    printf("volta_trainer_options.optimizer %zu %zu\n", offsetof(volta_trainer_options, optimizer),
           sizeof(((volta_trainer_options *)0)->optimizer));
    printf("volta_trainer_options.seed %zu %zu\n", offsetof(volta_trainer_options, seed),
           sizeof(((volta_trainer_options *)0)->seed));
    printf("volta_trainer_options.steps %zu %zu\n", offsetof(volta_trainer_options, steps),
           sizeof(((volta_trainer_options *)0)->steps));
    printf("volta_trainer_options.micro_batches %zu %zu\n", offsetof(volta_trainer_options, micro_batches),
           sizeof(((volta_trainer_options *)0)->micro_batches));
    printf("volta_trainer_options.schedule %zu %zu\n", offsetof(volta_trainer_options, schedule),
           sizeof(((volta_trainer_options *)0)->schedule));
    printf("volta_trainer_options.warmup_steps %zu %zu\n", offsetof(volta_trainer_options, warmup_steps),
           sizeof(((volta_trainer_options *)0)->warmup_steps));
    printf("volta_trainer_options.learning_rate %zu %zu\n", offsetof(volta_trainer_options, learning_rate),
           sizeof(((volta_trainer_options *)0)->learning_rate));
    printf("volta_trainer_options.final_learning_rate %zu %zu\n", offsetof(volta_trainer_options, final_learning_rate),
           sizeof(((volta_trainer_options *)0)->final_learning_rate));
    printf("volta_trainer_options.beta1 %zu %zu\n", offsetof(volta_trainer_options, beta1),
           sizeof(((volta_trainer_options *)0)->beta1));
    printf("volta_trainer_options.beta2 %zu %zu\n", offsetof(volta_trainer_options, beta2),
           sizeof(((volta_trainer_options *)0)->beta2));
    printf("volta_trainer_options.epsilon %zu %zu\n", offsetof(volta_trainer_options, epsilon),
           sizeof(((volta_trainer_options *)0)->epsilon));
    printf("volta_trainer_options.weight_decay %zu %zu\n", offsetof(volta_trainer_options, weight_decay),
           sizeof(((volta_trainer_options *)0)->weight_decay));
    printf("volta_trainer_options.decay_all_parameters %zu %zu\n", offsetof(volta_trainer_options, decay_all_parameters),
           sizeof(((volta_trainer_options *)0)->decay_all_parameters));
    printf("volta_trainer_options.momentum %zu %zu\n", offsetof(volta_trainer_options, momentum),
           sizeof(((volta_trainer_options *)0)->momentum));
    printf("volta_trainer_options.nesterov %zu %zu\n", offsetof(volta_trainer_options, nesterov),
           sizeof(((volta_trainer_options *)0)->nesterov));
    printf("volta_trainer_options.clip_norm %zu %zu\n", offsetof(volta_trainer_options, clip_norm),
           sizeof(((volta_trainer_options *)0)->clip_norm));
    printf("volta_trainer_options.nonfinite %zu %zu\n", offsetof(volta_trainer_options, nonfinite),
           sizeof(((volta_trainer_options *)0)->nonfinite));
    printf("volta_trainer_options.output_index %zu %zu\n", offsetof(volta_trainer_options, output_index),
           sizeof(((volta_trainer_options *)0)->output_index));
    printf("volta_trainer_options.label_smoothing %zu %zu\n", offsetof(volta_trainer_options, label_smoothing),
           sizeof(((volta_trainer_options *)0)->label_smoothing));
    printf("volta_trainer_options.class_weights %zu %zu\n", offsetof(volta_trainer_options, class_weights),
           sizeof(((volta_trainer_options *)0)->class_weights));
    printf("volta_trainer_options.class_weight_count %zu %zu\n", offsetof(volta_trainer_options, class_weight_count),
           sizeof(((volta_trainer_options *)0)->class_weight_count));
    printf("volta_trainer_options.huber_delta %zu %zu\n", offsetof(volta_trainer_options, huber_delta),
           sizeof(((volta_trainer_options *)0)->huber_delta));
    printf("volta_trainer_options.frozen %zu %zu\n", offsetof(volta_trainer_options, frozen),
           sizeof(((volta_trainer_options *)0)->frozen));
    printf("volta_trainer_options.frozen_count %zu %zu\n", offsetof(volta_trainer_options, frozen_count),
           sizeof(((volta_trainer_options *)0)->frozen_count));
    printf("volta_trainer_options.packed_documents %zu %zu\n", offsetof(volta_trainer_options, packed_documents),
           sizeof(((volta_trainer_options *)0)->packed_documents));
    printf("volta_trainer_options.activation_budget %zu %zu\n", offsetof(volta_trainer_options, activation_budget),
           sizeof(((volta_trainer_options *)0)->activation_budget));
    printf("volta_trainer_options.state_folder %zu %zu\n", offsetof(volta_trainer_options, state_folder),
           sizeof(((volta_trainer_options *)0)->state_folder));
    printf("volta_trainer_options.update_in_backward %zu %zu\n", offsetof(volta_trainer_options, update_in_backward),
           sizeof(((volta_trainer_options *)0)->update_in_backward));
    printf("volta_trainer_options.shards %zu %zu\n", offsetof(volta_trainer_options, shards),
           sizeof(((volta_trainer_options *)0)->shards));
    printf("volta_trainer_options.group %zu %zu\n", offsetof(volta_trainer_options, group),
           sizeof(((volta_trainer_options *)0)->group));
    printf("volta_training_cost %zu\n", sizeof(volta_training_cost));
    printf("volta_training_cost.struct_size %zu %zu\n", offsetof(volta_training_cost, struct_size),
           sizeof(((volta_training_cost *)0)->struct_size));
    printf("volta_training_cost.operations %zu %zu\n", offsetof(volta_training_cost, operations),
           sizeof(((volta_training_cost *)0)->operations));
    printf("volta_training_cost.repeated_operations %zu %zu\n", offsetof(volta_training_cost, repeated_operations),
           sizeof(((volta_training_cost *)0)->repeated_operations));
    printf("volta_training_cost.bytes %zu %zu\n", offsetof(volta_training_cost, bytes),
           sizeof(((volta_training_cost *)0)->bytes));
    printf("volta_training_cost.seconds %zu %zu\n", offsetof(volta_training_cost, seconds),
           sizeof(((volta_training_cost *)0)->seconds));
    printf("volta_training_cost.smallest_activations %zu %zu\n", offsetof(volta_training_cost, smallest_activations),
           sizeof(((volta_training_cost *)0)->smallest_activations));
    printf("volta_plan_step %zu\n", sizeof(volta_plan_step));
    printf("volta_plan_step.struct_size %zu %zu\n", offsetof(volta_plan_step, struct_size),
           sizeof(((volta_plan_step *)0)->struct_size));
    printf("volta_plan_step.operation %zu %zu\n", offsetof(volta_plan_step, operation),
           sizeof(((volta_plan_step *)0)->operation));
    printf("volta_plan_step.alive %zu %zu\n", offsetof(volta_plan_step, alive),
           sizeof(((volta_plan_step *)0)->alive));
    printf("volta_plan_step.part %zu %zu\n", offsetof(volta_plan_step, part),
           sizeof(((volta_plan_step *)0)->part));
    printf("volta_step_report %zu\n", sizeof(volta_step_report));
    printf("volta_step_report.struct_size %zu %zu\n", offsetof(volta_step_report, struct_size),
           sizeof(((volta_step_report *)0)->struct_size));
    printf("volta_step_report.step %zu %zu\n", offsetof(volta_step_report, step),
           sizeof(((volta_step_report *)0)->step));
    printf("volta_step_report.loss %zu %zu\n", offsetof(volta_step_report, loss),
           sizeof(((volta_step_report *)0)->loss));
    printf("volta_step_report.gradient_norm %zu %zu\n", offsetof(volta_step_report, gradient_norm),
           sizeof(((volta_step_report *)0)->gradient_norm));
    printf("volta_step_report.learning_rate %zu %zu\n", offsetof(volta_step_report, learning_rate),
           sizeof(((volta_step_report *)0)->learning_rate));
    printf("volta_step_report.wait_seconds %zu %zu\n", offsetof(volta_step_report, wait_seconds),
           sizeof(((volta_step_report *)0)->wait_seconds));
    printf("volta_step_report.exchange_seconds %zu %zu\n", offsetof(volta_step_report, exchange_seconds),
           sizeof(((volta_step_report *)0)->exchange_seconds));
    printf("volta_tape_options %zu\n", sizeof(volta_tape_options));
    printf("volta_tape_options.struct_size %zu %zu\n", offsetof(volta_tape_options, struct_size),
           sizeof(((volta_tape_options *)0)->struct_size));
    printf("volta_tape_options.mode %zu %zu\n", offsetof(volta_tape_options, mode),
           sizeof(((volta_tape_options *)0)->mode));
    printf("volta_tape_options.flags %zu %zu\n", offsetof(volta_tape_options, flags),
           sizeof(((volta_tape_options *)0)->flags));
    printf("volta_tape_options.seed %zu %zu\n", offsetof(volta_tape_options, seed),
           sizeof(((volta_tape_options *)0)->seed));
    printf("volta_tape_options.most_plans %zu %zu\n", offsetof(volta_tape_options, most_plans),
           sizeof(((volta_tape_options *)0)->most_plans));
    printf("volta_optimizer_options %zu\n", sizeof(volta_optimizer_options));
    printf("volta_optimizer_options.struct_size %zu %zu\n", offsetof(volta_optimizer_options, struct_size),
           sizeof(((volta_optimizer_options *)0)->struct_size));
    printf("volta_optimizer_options.optimizer %zu %zu\n", offsetof(volta_optimizer_options, optimizer),
           sizeof(((volta_optimizer_options *)0)->optimizer));
    printf("volta_optimizer_options.schedule %zu %zu\n", offsetof(volta_optimizer_options, schedule),
           sizeof(((volta_optimizer_options *)0)->schedule));
    printf("volta_optimizer_options.steps %zu %zu\n", offsetof(volta_optimizer_options, steps),
           sizeof(((volta_optimizer_options *)0)->steps));
    printf("volta_optimizer_options.warmup_steps %zu %zu\n", offsetof(volta_optimizer_options, warmup_steps),
           sizeof(((volta_optimizer_options *)0)->warmup_steps));
    printf("volta_optimizer_options.learning_rate %zu %zu\n", offsetof(volta_optimizer_options, learning_rate),
           sizeof(((volta_optimizer_options *)0)->learning_rate));
    printf("volta_optimizer_options.final_learning_rate %zu %zu\n", offsetof(volta_optimizer_options, final_learning_rate),
           sizeof(((volta_optimizer_options *)0)->final_learning_rate));
    printf("volta_optimizer_options.beta1 %zu %zu\n", offsetof(volta_optimizer_options, beta1),
           sizeof(((volta_optimizer_options *)0)->beta1));
    printf("volta_optimizer_options.beta2 %zu %zu\n", offsetof(volta_optimizer_options, beta2),
           sizeof(((volta_optimizer_options *)0)->beta2));
    printf("volta_optimizer_options.epsilon %zu %zu\n", offsetof(volta_optimizer_options, epsilon),
           sizeof(((volta_optimizer_options *)0)->epsilon));
    printf("volta_optimizer_options.weight_decay %zu %zu\n", offsetof(volta_optimizer_options, weight_decay),
           sizeof(((volta_optimizer_options *)0)->weight_decay));
    printf("volta_optimizer_options.decay_all_parameters %zu %zu\n", offsetof(volta_optimizer_options, decay_all_parameters),
           sizeof(((volta_optimizer_options *)0)->decay_all_parameters));
    printf("volta_optimizer_options.momentum %zu %zu\n", offsetof(volta_optimizer_options, momentum),
           sizeof(((volta_optimizer_options *)0)->momentum));
    printf("volta_optimizer_options.nesterov %zu %zu\n", offsetof(volta_optimizer_options, nesterov),
           sizeof(((volta_optimizer_options *)0)->nesterov));
    printf("volta_optimizer_options.clip_norm %zu %zu\n", offsetof(volta_optimizer_options, clip_norm),
           sizeof(((volta_optimizer_options *)0)->clip_norm));
    printf("volta_capture_options %zu\n", sizeof(volta_capture_options));
    printf("volta_capture_options.struct_size %zu %zu\n", offsetof(volta_capture_options, struct_size),
           sizeof(((volta_capture_options *)0)->struct_size));
    printf("volta_capture_options.tensors %zu %zu\n", offsetof(volta_capture_options, tensors),
           sizeof(((volta_capture_options *)0)->tensors));
    printf("volta_capture_options.names %zu %zu\n", offsetof(volta_capture_options, names),
           sizeof(((volta_capture_options *)0)->names));
    printf("volta_capture_options.name_count %zu %zu\n", offsetof(volta_capture_options, name_count),
           sizeof(((volta_capture_options *)0)->name_count));
    printf("volta_capture_options.output_names %zu %zu\n", offsetof(volta_capture_options, output_names),
           sizeof(((volta_capture_options *)0)->output_names));
    printf("volta_capture_options.open_batch %zu %zu\n", offsetof(volta_capture_options, open_batch),
           sizeof(((volta_capture_options *)0)->open_batch));
    printf("volta_compile_options %zu\n", sizeof(volta_compile_options));
    printf("volta_compile_options.struct_size %zu %zu\n", offsetof(volta_compile_options, struct_size),
           sizeof(((volta_compile_options *)0)->struct_size));
    printf("volta_compile_options.flags %zu %zu\n", offsetof(volta_compile_options, flags),
           sizeof(((volta_compile_options *)0)->flags));
    printf("volta_compile_options.seed %zu %zu\n", offsetof(volta_compile_options, seed),
           sizeof(((volta_compile_options *)0)->seed));
    printf("volta_tape_info %zu\n", sizeof(volta_tape_info));
    printf("volta_tape_info.struct_size %zu %zu\n", offsetof(volta_tape_info, struct_size),
           sizeof(((volta_tape_info *)0)->struct_size));
    printf("volta_tape_info.records %zu %zu\n", offsetof(volta_tape_info, records),
           sizeof(((volta_tape_info *)0)->records));
    printf("volta_tape_info.calls %zu %zu\n", offsetof(volta_tape_info, calls),
           sizeof(((volta_tape_info *)0)->calls));
    printf("volta_tape_info.segments %zu %zu\n", offsetof(volta_tape_info, segments),
           sizeof(((volta_tape_info *)0)->segments));
    printf("volta_tape_info.plans_known %zu %zu\n", offsetof(volta_tape_info, plans_known),
           sizeof(((volta_tape_info *)0)->plans_known));
    printf("volta_tape_info.plans_made %zu %zu\n", offsetof(volta_tape_info, plans_made),
           sizeof(((volta_tape_info *)0)->plans_made));
    printf("volta_tape_info.repeated_nodes %zu %zu\n", offsetof(volta_tape_info, repeated_nodes),
           sizeof(((volta_tape_info *)0)->repeated_nodes));
    printf("volta_tape_info.traces %zu %zu\n", offsetof(volta_tape_info, traces),
           sizeof(((volta_tape_info *)0)->traces));
    printf("volta_tape_info.held_bytes %zu %zu\n", offsetof(volta_tape_info, held_bytes),
           sizeof(((volta_tape_info *)0)->held_bytes));
    printf("volta_tape_info.plans_held %zu %zu\n", offsetof(volta_tape_info, plans_held),
           sizeof(((volta_tape_info *)0)->plans_held));
    printf("volta_tape_info.plans_released %zu %zu\n", offsetof(volta_tape_info, plans_released),
           sizeof(((volta_tape_info *)0)->plans_released));
    printf("volta_generator_options %zu\n", sizeof(volta_generator_options));
    printf("volta_generator_options.struct_size %zu %zu\n", offsetof(volta_generator_options, struct_size),
           sizeof(((volta_generator_options *)0)->struct_size));
    printf("volta_generator_options.temperature %zu %zu\n", offsetof(volta_generator_options, temperature),
           sizeof(((volta_generator_options *)0)->temperature));
    printf("volta_generator_options.top_k %zu %zu\n", offsetof(volta_generator_options, top_k),
           sizeof(((volta_generator_options *)0)->top_k));
    printf("volta_generator_options.top_p %zu %zu\n", offsetof(volta_generator_options, top_p),
           sizeof(((volta_generator_options *)0)->top_p));
    printf("volta_generator_options.min_p %zu %zu\n", offsetof(volta_generator_options, min_p),
           sizeof(((volta_generator_options *)0)->min_p));
    printf("volta_generator_options.repetition_penalty %zu %zu\n", offsetof(volta_generator_options, repetition_penalty),
           sizeof(((volta_generator_options *)0)->repetition_penalty));
    printf("volta_generator_options.seed %zu %zu\n", offsetof(volta_generator_options, seed),
           sizeof(((volta_generator_options *)0)->seed));
    printf("volta_generator_options.sequences %zu %zu\n", offsetof(volta_generator_options, sequences),
           sizeof(((volta_generator_options *)0)->sequences));
    printf("volta_generator_options.context %zu %zu\n", offsetof(volta_generator_options, context),
           sizeof(((volta_generator_options *)0)->context));
    printf("volta_generator_options.prefill_chunk %zu %zu\n", offsetof(volta_generator_options, prefill_chunk),
           sizeof(((volta_generator_options *)0)->prefill_chunk));
    printf("volta_generator_options.flags %zu %zu\n", offsetof(volta_generator_options, flags),
           sizeof(((volta_generator_options *)0)->flags));
    printf("volta_generator_options.cache_tokens %zu %zu\n", offsetof(volta_generator_options, cache_tokens),
           sizeof(((volta_generator_options *)0)->cache_tokens));
    printf("volta_token_cost %zu\n", sizeof(volta_token_cost));
    printf("volta_token_cost.struct_size %zu %zu\n", offsetof(volta_token_cost, struct_size),
           sizeof(((volta_token_cost *)0)->struct_size));
    printf("volta_token_cost.parameter_bytes %zu %zu\n", offsetof(volta_token_cost, parameter_bytes),
           sizeof(((volta_token_cost *)0)->parameter_bytes));
    printf("volta_token_cost.cache_bytes %zu %zu\n", offsetof(volta_token_cost, cache_bytes),
           sizeof(((volta_token_cost *)0)->cache_bytes));
    printf("volta_token_cost.operations %zu %zu\n", offsetof(volta_token_cost, operations),
           sizeof(((volta_token_cost *)0)->operations));
    printf("volta_sampling_options %zu\n", sizeof(volta_sampling_options));
    printf("volta_sampling_options.struct_size %zu %zu\n", offsetof(volta_sampling_options, struct_size),
           sizeof(((volta_sampling_options *)0)->struct_size));
    printf("volta_sampling_options.temperature %zu %zu\n", offsetof(volta_sampling_options, temperature),
           sizeof(((volta_sampling_options *)0)->temperature));
    printf("volta_sampling_options.top_k %zu %zu\n", offsetof(volta_sampling_options, top_k),
           sizeof(((volta_sampling_options *)0)->top_k));
    printf("volta_sampling_options.top_p %zu %zu\n", offsetof(volta_sampling_options, top_p),
           sizeof(((volta_sampling_options *)0)->top_p));
    printf("volta_sampling_options.min_p %zu %zu\n", offsetof(volta_sampling_options, min_p),
           sizeof(((volta_sampling_options *)0)->min_p));
    printf("volta_sampling_options.repetition_penalty %zu %zu\n", offsetof(volta_sampling_options, repetition_penalty),
           sizeof(((volta_sampling_options *)0)->repetition_penalty));
    printf("volta_sampling_options.seed %zu %zu\n", offsetof(volta_sampling_options, seed),
           sizeof(((volta_sampling_options *)0)->seed));
    printf("volta_write_options %zu\n", sizeof(volta_write_options));
    printf("volta_write_options.struct_size %zu %zu\n", offsetof(volta_write_options, struct_size),
           sizeof(((volta_write_options *)0)->struct_size));
    printf("volta_write_options.max_tokens %zu %zu\n", offsetof(volta_write_options, max_tokens),
           sizeof(((volta_write_options *)0)->max_tokens));
    printf("volta_write_options.stop_tokens %zu %zu\n", offsetof(volta_write_options, stop_tokens),
           sizeof(((volta_write_options *)0)->stop_tokens));
    printf("volta_write_options.stop_token_count %zu %zu\n", offsetof(volta_write_options, stop_token_count),
           sizeof(((volta_write_options *)0)->stop_token_count));
    printf("volta_write_options.stop_texts %zu %zu\n", offsetof(volta_write_options, stop_texts),
           sizeof(((volta_write_options *)0)->stop_texts));
    printf("volta_write_options.stop_text_count %zu %zu\n", offsetof(volta_write_options, stop_text_count),
           sizeof(((volta_write_options *)0)->stop_text_count));
    printf("volta_write_options.max_seconds %zu %zu\n", offsetof(volta_write_options, max_seconds),
           sizeof(((volta_write_options *)0)->max_seconds));
    printf("volta_write_options.cancel %zu %zu\n", offsetof(volta_write_options, cancel),
           sizeof(((volta_write_options *)0)->cancel));
    printf("volta_write_options.on_text %zu %zu\n", offsetof(volta_write_options, on_text),
           sizeof(((volta_write_options *)0)->on_text));
    printf("volta_write_options.user %zu %zu\n", offsetof(volta_write_options, user),
           sizeof(((volta_write_options *)0)->user));
    printf("volta_write_options.flags %zu %zu\n", offsetof(volta_write_options, flags),
           sizeof(((volta_write_options *)0)->flags));
    printf("volta_write_result %zu\n", sizeof(volta_write_result));
    printf("volta_write_result.struct_size %zu %zu\n", offsetof(volta_write_result, struct_size),
           sizeof(((volta_write_result *)0)->struct_size));
    printf("volta_write_result.reason %zu %zu\n", offsetof(volta_write_result, reason),
           sizeof(((volta_write_result *)0)->reason));
    printf("volta_write_result.stop_index %zu %zu\n", offsetof(volta_write_result, stop_index),
           sizeof(((volta_write_result *)0)->stop_index));
    printf("volta_write_result.token_count %zu %zu\n", offsetof(volta_write_result, token_count),
           sizeof(((volta_write_result *)0)->token_count));
    printf("volta_write_result.last_token %zu %zu\n", offsetof(volta_write_result, last_token),
           sizeof(((volta_write_result *)0)->last_token));
    printf("volta_write_result.unfinished_bytes %zu %zu\n", offsetof(volta_write_result, unfinished_bytes),
           sizeof(((volta_write_result *)0)->unfinished_bytes));
    printf("volta_write_result.text_bytes %zu %zu\n", offsetof(volta_write_result, text_bytes),
           sizeof(((volta_write_result *)0)->text_bytes));
    printf("volta_tune_shape %zu\n", sizeof(volta_tune_shape));
    printf("volta_tune_shape.m %zu %zu\n", offsetof(volta_tune_shape, m),
           sizeof(((volta_tune_shape *)0)->m));
    printf("volta_tune_shape.n %zu %zu\n", offsetof(volta_tune_shape, n),
           sizeof(((volta_tune_shape *)0)->n));
    printf("volta_tune_shape.k %zu %zu\n", offsetof(volta_tune_shape, k),
           sizeof(((volta_tune_shape *)0)->k));
    printf("volta_tune_shape.a_transposed %zu %zu\n", offsetof(volta_tune_shape, a_transposed),
           sizeof(((volta_tune_shape *)0)->a_transposed));
    printf("volta_tune_shape.b_transposed %zu %zu\n", offsetof(volta_tune_shape, b_transposed),
           sizeof(((volta_tune_shape *)0)->b_transposed));
    printf("volta_tune_shape.lda %zu %zu\n", offsetof(volta_tune_shape, lda),
           sizeof(((volta_tune_shape *)0)->lda));
    printf("volta_tune_shape.ldb %zu %zu\n", offsetof(volta_tune_shape, ldb),
           sizeof(((volta_tune_shape *)0)->ldb));
    printf("volta_tune_shape.ldc %zu %zu\n", offsetof(volta_tune_shape, ldc),
           sizeof(((volta_tune_shape *)0)->ldc));
    printf("volta_tune_report %zu\n", sizeof(volta_tune_report));
    printf("volta_tune_report.struct_size %zu %zu\n", offsetof(volta_tune_report, struct_size),
           sizeof(((volta_tune_report *)0)->struct_size));
    printf("volta_tune_report.index %zu %zu\n", offsetof(volta_tune_report, index),
           sizeof(((volta_tune_report *)0)->index));
    printf("volta_tune_report.count %zu %zu\n", offsetof(volta_tune_report, count),
           sizeof(((volta_tune_report *)0)->count));
    printf("volta_tune_report.share %zu %zu\n", offsetof(volta_tune_report, share),
           sizeof(((volta_tune_report *)0)->share));
    printf("volta_tune_report.done %zu %zu\n", offsetof(volta_tune_report, done),
           sizeof(((volta_tune_report *)0)->done));
    printf("volta_tune_report.has_epilogue %zu %zu\n", offsetof(volta_tune_report, has_epilogue),
           sizeof(((volta_tune_report *)0)->has_epilogue));
    printf("volta_tune_report.shape %zu %zu\n", offsetof(volta_tune_report, shape),
           sizeof(((volta_tune_report *)0)->shape));
    printf("volta_tune_report.batch %zu %zu\n", offsetof(volta_tune_report, batch),
           sizeof(((volta_tune_report *)0)->batch));
    printf("volta_tune_report.default_seconds %zu %zu\n", offsetof(volta_tune_report, default_seconds),
           sizeof(((volta_tune_report *)0)->default_seconds));
    printf("volta_tune_report.tuned_seconds %zu %zu\n", offsetof(volta_tune_report, tuned_seconds),
           sizeof(((volta_tune_report *)0)->tuned_seconds));
    printf("volta_tune_report.classic_seconds %zu %zu\n", offsetof(volta_tune_report, classic_seconds),
           sizeof(((volta_tune_report *)0)->classic_seconds));
    printf("volta_tune_report.plans_timed %zu %zu\n", offsetof(volta_tune_report, plans_timed),
           sizeof(((volta_tune_report *)0)->plans_timed));
    printf("volta_tune_report.choice %zu %zu\n", offsetof(volta_tune_report, choice),
           sizeof(((volta_tune_report *)0)->choice));
    printf("volta_tune_report.packed_once %zu %zu\n", offsetof(volta_tune_report, packed_once),
           sizeof(((volta_tune_report *)0)->packed_once));
    printf("volta_tune_report.from_memory %zu %zu\n", offsetof(volta_tune_report, from_memory),
           sizeof(((volta_tune_report *)0)->from_memory));
    printf("volta_tune_options %zu\n", sizeof(volta_tune_options));
    printf("volta_tune_options.struct_size %zu %zu\n", offsetof(volta_tune_options, struct_size),
           sizeof(((volta_tune_options *)0)->struct_size));
    printf("volta_tune_options.shapes %zu %zu\n", offsetof(volta_tune_options, shapes),
           sizeof(((volta_tune_options *)0)->shapes));
    printf("volta_tune_options.shape_count %zu %zu\n", offsetof(volta_tune_options, shape_count),
           sizeof(((volta_tune_options *)0)->shape_count));
    printf("volta_tune_options.session %zu %zu\n", offsetof(volta_tune_options, session),
           sizeof(((volta_tune_options *)0)->session));
    printf("volta_tune_options.trainer %zu %zu\n", offsetof(volta_tune_options, trainer),
           sizeof(((volta_tune_options *)0)->trainer));
    printf("volta_tune_options.runs %zu %zu\n", offsetof(volta_tune_options, runs),
           sizeof(((volta_tune_options *)0)->runs));
    printf("volta_tune_options.warmup %zu %zu\n", offsetof(volta_tune_options, warmup),
           sizeof(((volta_tune_options *)0)->warmup));
    printf("volta_tune_options.seconds %zu %zu\n", offsetof(volta_tune_options, seconds),
           sizeof(((volta_tune_options *)0)->seconds));
    printf("volta_tune_options.progress %zu %zu\n", offsetof(volta_tune_options, progress),
           sizeof(((volta_tune_options *)0)->progress));
    printf("volta_tune_options.user %zu %zu\n", offsetof(volta_tune_options, user),
           sizeof(((volta_tune_options *)0)->user));
    printf("volta_profile_options %zu\n", sizeof(volta_profile_options));
    printf("volta_profile_options.struct_size %zu %zu\n", offsetof(volta_profile_options, struct_size),
           sizeof(((volta_profile_options *)0)->struct_size));
    printf("volta_profile_options.capacity %zu %zu\n", offsetof(volta_profile_options, capacity),
           sizeof(((volta_profile_options *)0)->capacity));
    printf("volta_profile_info %zu\n", sizeof(volta_profile_info));
    printf("volta_profile_info.struct_size %zu %zu\n", offsetof(volta_profile_info, struct_size),
           sizeof(((volta_profile_info *)0)->struct_size));
    printf("volta_profile_info.event_count %zu %zu\n", offsetof(volta_profile_info, event_count),
           sizeof(((volta_profile_info *)0)->event_count));
    printf("volta_profile_info.dropped %zu %zu\n", offsetof(volta_profile_info, dropped),
           sizeof(((volta_profile_info *)0)->dropped));
    printf("volta_profile_info.operator_count %zu %zu\n", offsetof(volta_profile_info, operator_count),
           sizeof(((volta_profile_info *)0)->operator_count));
    printf("volta_profile_info.thread_count %zu %zu\n", offsetof(volta_profile_info, thread_count),
           sizeof(((volta_profile_info *)0)->thread_count));
    printf("volta_profile_info.duration_ns %zu %zu\n", offsetof(volta_profile_info, duration_ns),
           sizeof(((volta_profile_info *)0)->duration_ns));
    printf("volta_profile_info.calls_ns %zu %zu\n", offsetof(volta_profile_info, calls_ns),
           sizeof(((volta_profile_info *)0)->calls_ns));
    printf("volta_profile_info.steps_ns %zu %zu\n", offsetof(volta_profile_info, steps_ns),
           sizeof(((volta_profile_info *)0)->steps_ns));
    printf("volta_profile_info.held_bytes_peak %zu %zu\n", offsetof(volta_profile_info, held_bytes_peak),
           sizeof(((volta_profile_info *)0)->held_bytes_peak));
    printf("volta_profile_info.live_bytes_peak %zu %zu\n", offsetof(volta_profile_info, live_bytes_peak),
           sizeof(((volta_profile_info *)0)->live_bytes_peak));
    printf("volta_profile_operator %zu\n", sizeof(volta_profile_operator));
    printf("volta_profile_operator.struct_size %zu %zu\n", offsetof(volta_profile_operator, struct_size),
           sizeof(((volta_profile_operator *)0)->struct_size));
    printf("volta_profile_operator.name %zu %zu\n", offsetof(volta_profile_operator, name),
           sizeof(((volta_profile_operator *)0)->name));
    printf("volta_profile_operator.calls %zu %zu\n", offsetof(volta_profile_operator, calls),
           sizeof(((volta_profile_operator *)0)->calls));
    printf("volta_profile_operator.total_ns %zu %zu\n", offsetof(volta_profile_operator, total_ns),
           sizeof(((volta_profile_operator *)0)->total_ns));
    printf("volta_profile_operator.share %zu %zu\n", offsetof(volta_profile_operator, share),
           sizeof(((volta_profile_operator *)0)->share));
    printf("volta_profile_operator.operations %zu %zu\n", offsetof(volta_profile_operator, operations),
           sizeof(((volta_profile_operator *)0)->operations));
    printf("volta_profile_operator.bytes %zu %zu\n", offsetof(volta_profile_operator, bytes),
           sizeof(((volta_profile_operator *)0)->bytes));
    printf("volta_profile_event %zu\n", sizeof(volta_profile_event));
    printf("volta_profile_event.struct_size %zu %zu\n", offsetof(volta_profile_event, struct_size),
           sizeof(((volta_profile_event *)0)->struct_size));
    printf("volta_profile_event.kind %zu %zu\n", offsetof(volta_profile_event, kind),
           sizeof(((volta_profile_event *)0)->kind));
    printf("volta_profile_event.thread %zu %zu\n", offsetof(volta_profile_event, thread),
           sizeof(((volta_profile_event *)0)->thread));
    printf("volta_profile_event.depth %zu %zu\n", offsetof(volta_profile_event, depth),
           sizeof(((volta_profile_event *)0)->depth));
    printf("volta_profile_event.begin_ns %zu %zu\n", offsetof(volta_profile_event, begin_ns),
           sizeof(((volta_profile_event *)0)->begin_ns));
    printf("volta_profile_event.end_ns %zu %zu\n", offsetof(volta_profile_event, end_ns),
           sizeof(((volta_profile_event *)0)->end_ns));
    printf("volta_profile_event.name %zu %zu\n", offsetof(volta_profile_event, name),
           sizeof(((volta_profile_event *)0)->name));
    printf("volta_profile_event.node %zu %zu\n", offsetof(volta_profile_event, node),
           sizeof(((volta_profile_event *)0)->node));
    printf("volta_profile_event.kernel %zu %zu\n", offsetof(volta_profile_event, kernel),
           sizeof(((volta_profile_event *)0)->kernel));
    printf("volta_profile_event.step %zu %zu\n", offsetof(volta_profile_event, step),
           sizeof(((volta_profile_event *)0)->step));
    printf("volta_profile_event.value %zu %zu\n", offsetof(volta_profile_event, value),
           sizeof(((volta_profile_event *)0)->value));
    printf("volta_profile_event.number %zu %zu\n", offsetof(volta_profile_event, number),
           sizeof(((volta_profile_event *)0)->number));
    printf("volta_profile_event.operations %zu %zu\n", offsetof(volta_profile_event, operations),
           sizeof(((volta_profile_event *)0)->operations));
    printf("volta_profile_event.bytes %zu %zu\n", offsetof(volta_profile_event, bytes),
           sizeof(((volta_profile_event *)0)->bytes));
    printf("volta_profile_event.live_bytes %zu %zu\n", offsetof(volta_profile_event, live_bytes),
           sizeof(((volta_profile_event *)0)->live_bytes));
    printf("volta_profile_event.held_bytes %zu %zu\n", offsetof(volta_profile_event, held_bytes),
           sizeof(((volta_profile_event *)0)->held_bytes));
    printf("volta_dataset_options %zu\n", sizeof(volta_dataset_options));
    printf("volta_dataset_options.struct_size %zu %zu\n", offsetof(volta_dataset_options, struct_size),
           sizeof(((volta_dataset_options *)0)->struct_size));
    printf("volta_dataset_options.allocator %zu %zu\n", offsetof(volta_dataset_options, allocator),
           sizeof(((volta_dataset_options *)0)->allocator));
    printf("volta_dataset_options.log %zu %zu\n", offsetof(volta_dataset_options, log),
           sizeof(((volta_dataset_options *)0)->log));
    printf("volta_dataset_options.log_user %zu %zu\n", offsetof(volta_dataset_options, log_user),
           sizeof(((volta_dataset_options *)0)->log_user));
    printf("volta_dataset_options.split %zu %zu\n", offsetof(volta_dataset_options, split),
           sizeof(((volta_dataset_options *)0)->split));
    printf("volta_dataset_options.reserved %zu %zu\n", offsetof(volta_dataset_options, reserved),
           sizeof(((volta_dataset_options *)0)->reserved));
    printf("volta_dataset_options.max_pixels %zu %zu\n", offsetof(volta_dataset_options, max_pixels),
           sizeof(((volta_dataset_options *)0)->max_pixels));
    printf("volta_dataset_options.max_file_bytes %zu %zu\n", offsetof(volta_dataset_options, max_file_bytes),
           sizeof(((volta_dataset_options *)0)->max_file_bytes));
    printf("volta_dataset_info %zu\n", sizeof(volta_dataset_info));
    printf("volta_dataset_info.struct_size %zu %zu\n", offsetof(volta_dataset_info, struct_size),
           sizeof(((volta_dataset_info *)0)->struct_size));
    printf("volta_dataset_info.sample_count %zu %zu\n", offsetof(volta_dataset_info, sample_count),
           sizeof(((volta_dataset_info *)0)->sample_count));
    printf("volta_dataset_info.class_count %zu %zu\n", offsetof(volta_dataset_info, class_count),
           sizeof(((volta_dataset_info *)0)->class_count));
    printf("volta_dataset_info.channels %zu %zu\n", offsetof(volta_dataset_info, channels),
           sizeof(((volta_dataset_info *)0)->channels));
    printf("volta_dataset_info.height %zu %zu\n", offsetof(volta_dataset_info, height),
           sizeof(((volta_dataset_info *)0)->height));
    printf("volta_dataset_info.width %zu %zu\n", offsetof(volta_dataset_info, width),
           sizeof(((volta_dataset_info *)0)->width));
    printf("volta_picture_info %zu\n", sizeof(volta_picture_info));
    printf("volta_picture_info.struct_size %zu %zu\n", offsetof(volta_picture_info, struct_size),
           sizeof(((volta_picture_info *)0)->struct_size));
    printf("volta_picture_info.pixels %zu %zu\n", offsetof(volta_picture_info, pixels),
           sizeof(((volta_picture_info *)0)->pixels));
    printf("volta_picture_info.channels %zu %zu\n", offsetof(volta_picture_info, channels),
           sizeof(((volta_picture_info *)0)->channels));
    printf("volta_picture_info.height %zu %zu\n", offsetof(volta_picture_info, height),
           sizeof(((volta_picture_info *)0)->height));
    printf("volta_picture_info.width %zu %zu\n", offsetof(volta_picture_info, width),
           sizeof(((volta_picture_info *)0)->width));
    printf("volta_picture_info.label %zu %zu\n", offsetof(volta_picture_info, label),
           sizeof(((volta_picture_info *)0)->label));
    printf("volta_transform_options %zu\n", sizeof(volta_transform_options));
    printf("volta_transform_options.struct_size %zu %zu\n", offsetof(volta_transform_options, struct_size),
           sizeof(((volta_transform_options *)0)->struct_size));
    printf("volta_transform_options.channels %zu %zu\n", offsetof(volta_transform_options, channels),
           sizeof(((volta_transform_options *)0)->channels));
    printf("volta_transform_options.height %zu %zu\n", offsetof(volta_transform_options, height),
           sizeof(((volta_transform_options *)0)->height));
    printf("volta_transform_options.width %zu %zu\n", offsetof(volta_transform_options, width),
           sizeof(((volta_transform_options *)0)->width));
    printf("volta_transform_options.resize %zu %zu\n", offsetof(volta_transform_options, resize),
           sizeof(((volta_transform_options *)0)->resize));
    printf("volta_transform_options.filter %zu %zu\n", offsetof(volta_transform_options, filter),
           sizeof(((volta_transform_options *)0)->filter));
    printf("volta_transform_options.mean %zu %zu\n", offsetof(volta_transform_options, mean),
           sizeof(((volta_transform_options *)0)->mean));
    printf("volta_transform_options.deviation %zu %zu\n", offsetof(volta_transform_options, deviation),
           sizeof(((volta_transform_options *)0)->deviation));
    printf("volta_transform_options.random_crop %zu %zu\n", offsetof(volta_transform_options, random_crop),
           sizeof(((volta_transform_options *)0)->random_crop));
    printf("volta_transform_options.crop_padding %zu %zu\n", offsetof(volta_transform_options, crop_padding),
           sizeof(((volta_transform_options *)0)->crop_padding));
    printf("volta_transform_options.random_resized_crop %zu %zu\n", offsetof(volta_transform_options, random_resized_crop),
           sizeof(((volta_transform_options *)0)->random_resized_crop));
    printf("volta_transform_options.area_min %zu %zu\n", offsetof(volta_transform_options, area_min),
           sizeof(((volta_transform_options *)0)->area_min));
    printf("volta_transform_options.area_max %zu %zu\n", offsetof(volta_transform_options, area_max),
           sizeof(((volta_transform_options *)0)->area_max));
    printf("volta_transform_options.ratio_min %zu %zu\n", offsetof(volta_transform_options, ratio_min),
           sizeof(((volta_transform_options *)0)->ratio_min));
    printf("volta_transform_options.ratio_max %zu %zu\n", offsetof(volta_transform_options, ratio_max),
           sizeof(((volta_transform_options *)0)->ratio_max));
    printf("volta_transform_options.flip %zu %zu\n", offsetof(volta_transform_options, flip),
           sizeof(((volta_transform_options *)0)->flip));
    printf("volta_transform_options.brightness %zu %zu\n", offsetof(volta_transform_options, brightness),
           sizeof(((volta_transform_options *)0)->brightness));
    printf("volta_transform_options.contrast %zu %zu\n", offsetof(volta_transform_options, contrast),
           sizeof(((volta_transform_options *)0)->contrast));
    printf("volta_transform_options.saturation %zu %zu\n", offsetof(volta_transform_options, saturation),
           sizeof(((volta_transform_options *)0)->saturation));
    printf("volta_transform_options.cutout %zu %zu\n", offsetof(volta_transform_options, cutout),
           sizeof(((volta_transform_options *)0)->cutout));
    printf("volta_transform_options.mixup %zu %zu\n", offsetof(volta_transform_options, mixup),
           sizeof(((volta_transform_options *)0)->mixup));
    printf("volta_text_info %zu\n", sizeof(volta_text_info));
    printf("volta_text_info.struct_size %zu %zu\n", offsetof(volta_text_info, struct_size),
           sizeof(((volta_text_info *)0)->struct_size));
    printf("volta_text_info.bytes %zu %zu\n", offsetof(volta_text_info, bytes),
           sizeof(((volta_text_info *)0)->bytes));
    printf("volta_text_info.byte_count %zu %zu\n", offsetof(volta_text_info, byte_count),
           sizeof(((volta_text_info *)0)->byte_count));
    printf("volta_text_info.path %zu %zu\n", offsetof(volta_text_info, path),
           sizeof(((volta_text_info *)0)->path));
    printf("volta_text_info.file_count %zu %zu\n", offsetof(volta_text_info, file_count),
           sizeof(((volta_text_info *)0)->file_count));
    printf("volta_document %zu\n", sizeof(volta_document));
    printf("volta_document.struct_size %zu %zu\n", offsetof(volta_document, struct_size),
           sizeof(((volta_document *)0)->struct_size));
    printf("volta_document.prompt %zu %zu\n", offsetof(volta_document, prompt),
           sizeof(((volta_document *)0)->prompt));
    printf("volta_document.completion %zu %zu\n", offsetof(volta_document, completion),
           sizeof(((volta_document *)0)->completion));
    printf("volta_document.messages %zu %zu\n", offsetof(volta_document, messages),
           sizeof(((volta_document *)0)->messages));
    printf("volta_document.message_count %zu %zu\n", offsetof(volta_document, message_count),
           sizeof(((volta_document *)0)->message_count));
    printf("volta_document.text %zu %zu\n", offsetof(volta_document, text),
           sizeof(((volta_document *)0)->text));
    printf("volta_document.text_pair %zu %zu\n", offsetof(volta_document, text_pair),
           sizeof(((volta_document *)0)->text_pair));
    printf("volta_document.label_name %zu %zu\n", offsetof(volta_document, label_name),
           sizeof(((volta_document *)0)->label_name));
    printf("volta_document.label %zu %zu\n", offsetof(volta_document, label),
           sizeof(((volta_document *)0)->label));
    printf("volta_document.line %zu %zu\n", offsetof(volta_document, line),
           sizeof(((volta_document *)0)->line));
    printf("volta_loader_options %zu\n", sizeof(volta_loader_options));
    printf("volta_loader_options.struct_size %zu %zu\n", offsetof(volta_loader_options, struct_size),
           sizeof(((volta_loader_options *)0)->struct_size));
    printf("volta_loader_options.transform %zu %zu\n", offsetof(volta_loader_options, transform),
           sizeof(((volta_loader_options *)0)->transform));
    printf("volta_loader_options.seed %zu %zu\n", offsetof(volta_loader_options, seed),
           sizeof(((volta_loader_options *)0)->seed));
    printf("volta_loader_options.sample_limit %zu %zu\n", offsetof(volta_loader_options, sample_limit),
           sizeof(((volta_loader_options *)0)->sample_limit));
    printf("volta_loader_options.batch %zu %zu\n", offsetof(volta_loader_options, batch),
           sizeof(((volta_loader_options *)0)->batch));
    printf("volta_loader_options.thread_count %zu %zu\n", offsetof(volta_loader_options, thread_count),
           sizeof(((volta_loader_options *)0)->thread_count));
    printf("volta_loader_options.queue %zu %zu\n", offsetof(volta_loader_options, queue),
           sizeof(((volta_loader_options *)0)->queue));
    printf("volta_loader_options.order %zu %zu\n", offsetof(volta_loader_options, order),
           sizeof(((volta_loader_options *)0)->order));
    printf("volta_loader_options.batches %zu %zu\n", offsetof(volta_loader_options, batches),
           sizeof(((volta_loader_options *)0)->batches));
    printf("volta_loader_options.damaged %zu %zu\n", offsetof(volta_loader_options, damaged),
           sizeof(((volta_loader_options *)0)->damaged));
    printf("volta_loader_options.flags %zu %zu\n", offsetof(volta_loader_options, flags),
           sizeof(((volta_loader_options *)0)->flags));
    printf("volta_loader_options.reserved %zu %zu\n", offsetof(volta_loader_options, reserved),
           sizeof(((volta_loader_options *)0)->reserved));
    printf("volta_batch %zu\n", sizeof(volta_batch));
    printf("volta_batch.struct_size %zu %zu\n", offsetof(volta_batch, struct_size),
           sizeof(((volta_batch *)0)->struct_size));
    printf("volta_batch.pixels %zu %zu\n", offsetof(volta_batch, pixels),
           sizeof(((volta_batch *)0)->pixels));
    printf("volta_batch.labels %zu %zu\n", offsetof(volta_batch, labels),
           sizeof(((volta_batch *)0)->labels));
    printf("volta_batch.weights %zu %zu\n", offsetof(volta_batch, weights),
           sizeof(((volta_batch *)0)->weights));
    printf("volta_batch.samples %zu %zu\n", offsetof(volta_batch, samples),
           sizeof(((volta_batch *)0)->samples));
    printf("volta_batch.epoch %zu %zu\n", offsetof(volta_batch, epoch),
           sizeof(((volta_batch *)0)->epoch));
    printf("volta_batch.batch %zu %zu\n", offsetof(volta_batch, batch),
           sizeof(((volta_batch *)0)->batch));
    printf("volta_batch.batches_of_epoch %zu %zu\n", offsetof(volta_batch, batches_of_epoch),
           sizeof(((volta_batch *)0)->batches_of_epoch));
    printf("volta_batch.skipped %zu %zu\n", offsetof(volta_batch, skipped),
           sizeof(((volta_batch *)0)->skipped));
    printf("volta_batch.count %zu %zu\n", offsetof(volta_batch, count),
           sizeof(((volta_batch *)0)->count));
    printf("volta_batch.channels %zu %zu\n", offsetof(volta_batch, channels),
           sizeof(((volta_batch *)0)->channels));
    printf("volta_batch.height %zu %zu\n", offsetof(volta_batch, height),
           sizeof(((volta_batch *)0)->height));
    printf("volta_batch.width %zu %zu\n", offsetof(volta_batch, width),
           sizeof(((volta_batch *)0)->width));
    return 0;
}
