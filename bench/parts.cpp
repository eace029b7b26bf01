/* SPDX-License-Identifier: BSD-3-Clause */
// Benchmarks of the parts of a barrier, with Google Benchmark: arrival records, waiters, barriers
// of two processes, and setup. They show developers what a change of one part costs. Run them as
//   bench/parts --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
// and only compare medians of the same run, because the speed of a machine changes.
//
// parts.c and parts_pair.c implement what is measured; each benchmark here calls one function in a
// loop. A benchmark that this machine does not support is skipped with a message.

#include <benchmark/benchmark.h>

#include <string>

#include "bench/parts.h"

namespace
{

// ---- the arrival record, in one process: only the instructions, without cache traffic ----

void record_publish(benchmark::State &state)
{
    parts_record *record = parts_record_open(state.range(0), state.range(1));
    for (auto _ : state) {
        parts_record_publish(record);
        benchmark::ClobberMemory();
    }
    parts_record_close(record);
}

void record_complete(benchmark::State &state)
{
    parts_record *record = parts_record_open(state.range(0), state.range(1));
    parts_record_publish(record);
    for (auto _ : state) {
        benchmark::DoNotOptimize(parts_record_complete(record));
        benchmark::ClobberMemory();
    }
    parts_record_close(record);
}

void split_barrier(benchmark::State &state)
{
    parts_arrivals *arrivals = parts_arrivals_open(state.range(0));
    if (nullptr == arrivals) {
        state.SkipWithError("no shared memory");
        return;
    }
    for (auto _ : state) {
        if (!parts_arrivals_play(arrivals)) {
            state.SkipWithError("all have arrived, but it is not complete");
            break;
        }
    }
    parts_arrivals_close(arrivals);
}

// ---- two processes; real time, as each waits for the other ----

void play(benchmark::State &state, parts_pair *pair)
{
    if (nullptr == pair) {
        state.SkipWithError("needs a processor for each of the two, and shared memory");
        return;
    }
    parts_pair_play(pair); // so that both processes are running
    for (auto _ : state) {
        parts_pair_play(pair);
    }
    parts_pair_close(pair);
}

const struct {
    const char *name;
    parts_way way;
} ways[] = {{"polling", PARTS_POLLING}, {"yielding", PARTS_YIELDING}, {"sleeping", PARTS_SLEEPING}};

const char *const layouts[] = {"flags:4", "flags:64", "flags:128", "counter", "dissemination:1"};

// ---- a NIC's path; to count instructions, run it under valgrind --tool=callgrind ----

// Polls one of two NICs in this process, when no packet has arrived.
bool poll_one(parts_nics *pair)
{
    parts_nics_poll(pair);
    return true;
}

void nics(benchmark::State &state, const char *kind, bool (*act)(parts_nics *))
{
    parts_nics *pair = parts_nics_open(kind);
    if (nullptr == pair) {
        state.SkipWithError("no such NIC on this machine");
        return;
    }
    for (auto _ : state) {
        if (!act(pair)) {
            state.SkipWithError("a barrier was not completed");
            break;
        }
    }
    parts_nics_close(pair);
}

// ---- matching ----

const struct {
    const char *name;
    parts_match_way way;
} matches[] = {{"posted", PARTS_MATCH_POSTED},
               {"unexpected", PARTS_MATCH_UNEXPECTED},
               {"open_source", PARTS_MATCH_OPEN}};

void match(benchmark::State &state, parts_match_way way)
{
    parts_match *table = parts_match_open(state.range(0), state.range(1));
    if (nullptr == table) {
        state.SkipWithError("no memory");
        return;
    }
    for (auto _ : state) {
        if (!parts_match_play(table, way)) {
            state.SkipWithError("a pair was not matched");
            break;
        }
    }
    parts_match_close(table);
}

// ---- setup ----

void schedule(benchmark::State &state, const char *choice)
{
    for (auto _ : state) {
        benchmark::DoNotOptimize(parts_schedule(choice, state.range(0)));
    }
    state.counters["messages"] = parts_schedule(choice, state.range(0));
}

void plan(benchmark::State &state, const char *choice)
{
    parts_planner *planner = parts_planner_open(choice, state.range(0));
    if (nullptr == planner) {
        state.SkipWithError("no memory");
        return;
    }
    for (auto _ : state) {
        benchmark::DoNotOptimize(parts_planner_play(planner));
    }
    parts_planner_close(planner);
}

const char *const schedules[] = {"dissemination:1", "dissemination:3", "pairwise", "tree:4"};

// The record of a communicator: two members attach and detach, while no or thousands of other
// records exist.
void record_join_leave(benchmark::State &state)
{
    parts_segment *segment = parts_segment_open(state.range(0), state.range(1));
    if (nullptr == segment) {
        state.SkipWithError("no shared memory");
        return;
    }
    for (auto _ : state) {
        if (!parts_segment_play(segment)) {
            state.SkipWithError("no record");
            break;
        }
    }
    parts_segment_close(segment);
}

void register_all()
{
    for (const auto &one : {record_publish, record_complete}) {
        benchmark::RegisterBenchmark(one == record_publish ? "record_publish" : "record_complete",
                                     one)
            ->ArgNames({"P", "stride"})
            ->ArgsProduct({{2, 8, 64, 512}, {4, 64, 128}});
    }
    benchmark::RegisterBenchmark("split_barrier", split_barrier)
        ->ArgName("P")
        ->RangeMultiplier(8)
        ->Range(2, 1024);
    for (const auto &way : ways) {
        benchmark::RegisterBenchmark(
            (std::string("pingpong/") + way.name).c_str(),
            [=](benchmark::State &state) { play(state, parts_pingpong_open(way.way)); })
            ->UseRealTime();
    }
    for (const char *layout : layouts) {
        for (const auto &way : ways) {
            benchmark::RegisterBenchmark(
                (std::string("barrier/") + layout + "/" + way.name).c_str(),
                [=](benchmark::State &state) { play(state, parts_barrier_open(way.way, layout)); })
                ->UseRealTime();
        }
    }
    for (const char *kind : {"soft", "verbs"}) {
        benchmark::RegisterBenchmark((std::string("nics/") + kind).c_str(), nics, kind,
                                     parts_nics_play);
        benchmark::RegisterBenchmark((std::string("nics_poll/") + kind).c_str(), nics, kind,
                                     poll_one);
    }
    for (const auto &way : matches) {
        benchmark::RegisterBenchmark((std::string("match/") + way.name).c_str(), match, way.way)
            ->ArgNames({"waiting", "sources"})
            ->ArgsProduct({{1, 1000, 10000}, {1, 15}});
    }
    for (const char *choice : schedules) {
        benchmark::RegisterBenchmark((std::string("schedule/") + choice).c_str(), schedule, choice)
            ->ArgName("P")
            ->RangeMultiplier(8)
            ->Range(2, 1024);
    }
    for (const char *choice : schedules) {
        benchmark::RegisterBenchmark((std::string("plan/") + choice).c_str(), plan, choice)
            ->ArgName("P")
            ->RangeMultiplier(8)
            ->Range(2, 1024);
    }
    benchmark::RegisterBenchmark("record_join_leave", record_join_leave)
        ->ArgNames({"bytes", "others"})
        ->ArgsProduct({{512, 8192}, {0, 5000}});
}

} // namespace

int main(int argc, char **argv)
{
    register_all();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
