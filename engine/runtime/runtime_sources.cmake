# Sessions, training and generation, on the gateway.
set(VOLTA_RUNTIME_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/program_memory.cpp
    ${CMAKE_CURRENT_LIST_DIR}/machine_speed.cpp
    ${CMAKE_CURRENT_LIST_DIR}/session.cpp
    ${CMAKE_CURRENT_LIST_DIR}/training_graph.cpp
    ${CMAKE_CURRENT_LIST_DIR}/optimizer.cpp
    ${CMAKE_CURRENT_LIST_DIR}/token_stream.cpp
    ${CMAKE_CURRENT_LIST_DIR}/token_loss.cpp
    ${CMAKE_CURRENT_LIST_DIR}/trainer.cpp
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint.cpp
    ${CMAKE_CURRENT_LIST_DIR}/sampler.cpp
    ${CMAKE_CURRENT_LIST_DIR}/decode_graph.cpp
    ${CMAKE_CURRENT_LIST_DIR}/decoder.cpp
    ${CMAKE_CURRENT_LIST_DIR}/token_cost.cpp
    ${CMAKE_CURRENT_LIST_DIR}/cached_decoder.cpp
    ${CMAKE_CURRENT_LIST_DIR}/whole_decoder.cpp
    ${CMAKE_CURRENT_LIST_DIR}/generator.cpp)
