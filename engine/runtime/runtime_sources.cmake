# Sessions, training and generation, on the gateway. What runs per step or token is in VOLTA_RUNTIME_SOURCES, if it
# loops over more than steps.
set(VOLTA_RUNTIME_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/session.cpp
    ${CMAKE_CURRENT_LIST_DIR}/token_stream.cpp
    ${CMAKE_CURRENT_LIST_DIR}/token_loss.cpp
    ${CMAKE_CURRENT_LIST_DIR}/sampler.cpp
    ${CMAKE_CURRENT_LIST_DIR}/decode_angles.cpp
    ${CMAKE_CURRENT_LIST_DIR}/decode_cache.cpp
    ${CMAKE_CURRENT_LIST_DIR}/text_stream.cpp)
set(VOLTA_RUNTIME_SMALL
    ${CMAKE_CURRENT_LIST_DIR}/program_memory.cpp
    ${CMAKE_CURRENT_LIST_DIR}/model_memory.cpp
    ${CMAKE_CURRENT_LIST_DIR}/profile.cpp
    ${CMAKE_CURRENT_LIST_DIR}/machine_speed.cpp
    ${CMAKE_CURRENT_LIST_DIR}/loss.cpp
    ${CMAKE_CURRENT_LIST_DIR}/training_graph.cpp
    ${CMAKE_CURRENT_LIST_DIR}/optimizer.cpp
    ${CMAKE_CURRENT_LIST_DIR}/optimizer_options.cpp
    ${CMAKE_CURRENT_LIST_DIR}/trainer.cpp
    ${CMAKE_CURRENT_LIST_DIR}/decode_graph.cpp
    ${CMAKE_CURRENT_LIST_DIR}/logit_rows.cpp
    ${CMAKE_CURRENT_LIST_DIR}/decoder.cpp
    ${CMAKE_CURRENT_LIST_DIR}/token_cost.cpp
    ${CMAKE_CURRENT_LIST_DIR}/cached_decoder.cpp
    ${CMAKE_CURRENT_LIST_DIR}/whole_decoder.cpp
    ${CMAKE_CURRENT_LIST_DIR}/generator.cpp
    ${CMAKE_CURRENT_LIST_DIR}/writer.cpp)
