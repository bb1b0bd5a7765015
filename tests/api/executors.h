/* Executors of hosts: each is a parallel_for, with what it needs. */
#ifndef VOLTA_TESTS_EXECUTORS_H
#define VOLTA_TESTS_EXECUTORS_H

#include <pthread.h>
#include <stdint.h>

#include <volta.h>

enum { kMostParts = 256 };

/* What was asked of it; of all executors, on any threads. */
struct executor {
    uint64_t calls, parts;
    uint32_t most;   /* parts of a call */
    uint32_t random; /* state */
};

static inline void count_call(struct executor* e, uint32_t count) {
    __atomic_fetch_add(&e->calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&e->parts, count, __ATOMIC_RELAXED);
    if (count > e->most) e->most = count;
}

static inline void run_forwards(void* user, uint32_t count, volta_part part, void* part_user) {
    uint32_t i;
    count_call(user, count);
    for (i = 0; i < count; ++i) part(part_user, i);
}

static inline void run_backwards(void* user, uint32_t count, volta_part part, void* part_user) {
    uint32_t i;
    count_call(user, count);
    for (i = count; i-- > 0;) part(part_user, i);
}

static inline void run_in_random_order(void* user, uint32_t count, volta_part part, void* part_user) {
    struct executor* e = user;
    uint32_t order[kMostParts], i;
    count_call(e, count);
    for (i = 0; i < count; ++i) order[i] = i;
    for (i = count; i > 1; --i) {
        uint32_t other, kept = order[i - 1];
        e->random = e->random * 1664525u + 1013904223u;
        other = (e->random >> 8) % i;
        order[i - 1] = order[other];
        order[other] = kept;
    }
    for (i = 0; i < count; ++i) part(part_user, order[i]);
}

/* A thread for each part. */
struct one_part {
    pthread_t thread;
    volta_part part;
    void* part_user;
    uint32_t index;
};

static inline void* run_one_part(void* data) {
    struct one_part* one = data;
    one->part(one->part_user, one->index);
    return NULL;
}

static inline void run_on_new_threads(void* user, uint32_t count, volta_part part, void* part_user) {
    struct one_part parts[kMostParts];
    uint32_t i;
    count_call(user, count);
    for (i = 0; i < count; ++i) {
        parts[i].part = part;
        parts[i].part_user = part_user;
        parts[i].index = i;
        if (pthread_create(&parts[i].thread, NULL, run_one_part, &parts[i]) != 0) part(part_user, i);
    }
    for (i = 0; i < count; ++i) pthread_join(parts[i].thread, NULL);
}

/* A pool that several contexts may use at once: its threads, and whoever calls, take parts of any job. */
struct job {
    struct job* next;
    volta_part part;
    void* part_user;
    uint32_t count, begun, ended;
};

struct pool {
    struct executor counts;
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    struct job* jobs;
    pthread_t threads[8];
    int thread_count, stops;
};

/* With the mutex held, which is given up for the part's length. */
static inline void pool_run_part(struct pool* p, struct job* job) {
    const uint32_t index = job->begun++;
    if (job->begun == job->count) {
        struct job** at = &p->jobs;
        while (*at != job) at = &(*at)->next;
        *at = job->next;
    }
    pthread_mutex_unlock(&p->mutex);
    job->part(job->part_user, index);
    pthread_mutex_lock(&p->mutex);
    if (++job->ended == job->count) pthread_cond_broadcast(&p->done);
}

static inline void* pool_thread(void* data) {
    struct pool* p = data;
    pthread_mutex_lock(&p->mutex);
    while (!p->stops)
        if (p->jobs != NULL)
            pool_run_part(p, p->jobs);
        else
            pthread_cond_wait(&p->work, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static inline void pool_start(struct pool* p, int threads) {
    int i;
    p->counts.calls = p->counts.parts = 0;
    p->counts.most = 0;
    p->jobs = NULL;
    p->stops = 0;
    p->thread_count = threads;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    for (i = 0; i < threads; ++i) pthread_create(&p->threads[i], NULL, pool_thread, p);
}

static inline void pool_stop(struct pool* p) {
    int i;
    pthread_mutex_lock(&p->mutex);
    p->stops = 1;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->mutex);
    for (i = 0; i < p->thread_count; ++i) pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->mutex);
}

static inline void run_on_pool(void* user, uint32_t count, volta_part part, void* part_user) {
    struct pool* p = user;
    struct job job = {NULL, part, part_user, count, 0, 0};
    pthread_mutex_lock(&p->mutex);
    count_call(&p->counts, count);
    job.next = p->jobs;
    p->jobs = &job;
    pthread_cond_broadcast(&p->work);
    while (job.begun < count) pool_run_part(p, &job);
    while (job.ended < count) pthread_cond_wait(&p->done, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

#endif
