# The fuzz targets, one row each: name | source | definition | further seeds. A target's corpus is fuzz/corpus/<name>.
# `make fuzz` runs all of them under libFuzzer, replay_<name> (tests/fuzz) replays their corpora in every build.
# Imports are compiled once per container, and once per file that stands beside the weights: the format or member of
# volta_import_options is the definition. Readers of libvolta_data are numbered in fuzz_data.cpp. Those
# of voltac lie beside what they try.
set(VOLTA_FUZZ_TARGETS
    "read_model|fuzz_read_model.cpp||tests/golden/models"
    "read_parts|fuzz_read_parts.cpp||"
    "run_model|fuzz_run_model.cpp||"
    "tape|fuzz_tape.cpp||"
    "read_adapter|fuzz_adapter.cpp|FUZZ_ADAPTER=1|"
    "import_peft|fuzz_adapter.cpp|FUZZ_ADAPTER=2|"
    "import_peft_config|fuzz_adapter.cpp|FUZZ_ADAPTER=3|"
    "read_gguf|fuzz_read_gguf.cpp||"
    "read_tokenizer|fuzz_read_tokenizer.cpp||"
    "read_tuning|fuzz_read_tuning.cpp||"
    "import_safetensors|fuzz_import.cpp|FUZZ_FORMAT=VOLTA_WEIGHTS_SAFETENSORS|"
    "import_gguf|fuzz_import.cpp|FUZZ_FORMAT=VOLTA_WEIGHTS_GGUF|"
    "import_llama2c|fuzz_import.cpp|FUZZ_FORMAT=VOLTA_WEIGHTS_LLAMA2C|"
    "import_onnx|fuzz_import.cpp|FUZZ_FORMAT=VOLTA_WEIGHTS_ONNX|"
    "import_config|fuzz_import_beside.cpp|FUZZ_OPTION=config_path|"
    "import_key_map|fuzz_import_beside.cpp|FUZZ_OPTION=key_map_path|"
    "data_picture|fuzz_data.cpp|FUZZ_DATA=1|tests/data/files"
    "data_cifar|fuzz_data.cpp|FUZZ_DATA=2|"
    "data_idx|fuzz_data.cpp|FUZZ_DATA=3|"
    "data_names|fuzz_data.cpp|FUZZ_DATA=4|"
    "data_text|fuzz_data.cpp|FUZZ_DATA=5|"
    "chat_template|fuzz_chat.cpp||"
    "read_tensors_safetensors|fuzz_read_tensors.cpp|FUZZ_ENDING=\".safetensors\"|"
    "read_tensors_npy|fuzz_read_tensors.cpp|FUZZ_ENDING=\".npy\"|fuzz/corpus/read_npy"
    "read_tensors_npz|fuzz_read_tensors.cpp|FUZZ_ENDING=\".npz\"|"
    "read_documents|../cli/fuzz_documents.cpp||"
    "read_npy|../cli/fuzz_npy.cpp||")

# volta_fuzz_programs(<prefix> <further sources> [WITHOUT <names>]): <prefix>_read_gguf, ... Sets VOLTA_FUZZ_NAMES to the
# names, and VOLTA_FUZZ_SEEDS_<name> to the folders of seeds.
function(volta_fuzz_programs prefix)
    cmake_parse_arguments(arg "" "" "WITHOUT" ${ARGN})
    set(names "")
    foreach(row ${VOLTA_FUZZ_TARGETS})
        string(REPLACE "|" ";" row "${row}")
        list(GET row 0 name)
        list(GET row 1 source)
        list(GET row 2 definition)
        list(GET row 3 further)
        if(name IN_LIST arg_WITHOUT)
            continue()
        endif()
        set(seeds ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
        if(NOT EXISTS ${seeds})
            message(FATAL_ERROR "fuzz/targets.cmake: ${name} has no fuzz/corpus/${name}")
        endif()
        if(further)
            list(APPEND seeds ${PROJECT_SOURCE_DIR}/${further})
        endif()
        add_executable(${prefix}_${name} ${PROJECT_SOURCE_DIR}/fuzz/${source} ${arg_UNPARSED_ARGUMENTS})
        target_compile_definitions(${prefix}_${name} PRIVATE ${definition})
        target_link_libraries(${prefix}_${name} PRIVATE volta_flags volta_data_static volta_static)
        if(name STREQUAL read_npy OR name STREQUAL read_documents)
            target_sources(${prefix}_${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli/support.cpp ${PROJECT_SOURCE_DIR}/cli/text.cpp)
            if(name STREQUAL read_npy)
                target_sources(${prefix}_${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli/npy.cpp)
            else()
                target_sources(${prefix}_${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli/documents.cpp ${PROJECT_SOURCE_DIR}/cli/chat_format.cpp)
            endif()
            find_path(JSON_INCLUDE_DIR nlohmann/json.hpp REQUIRED)
            target_include_directories(${prefix}_${name} SYSTEM PRIVATE ${JSON_INCLUDE_DIR})
        endif()
        list(APPEND names ${name})
        set(VOLTA_FUZZ_SEEDS_${name} ${seeds} PARENT_SCOPE)
    endforeach()
    set(VOLTA_FUZZ_NAMES ${names} PARENT_SCOPE)
endfunction()
