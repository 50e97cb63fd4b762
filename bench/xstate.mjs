// The measured machines on XState v6: the pure functions `transition` and `initialTransition`.
//
// Runs beside an installed `xstate` (engine.py copies it there), with
//   NODE_ENV=production node --single-threaded --expose-gc xstate.mjs [--quick]
// and prints one JSON object. Method and figures are those of measure.py: CPU time per event, median of the repeats.

import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
import { createMachine, initialTransition, transition } from 'xstate';

const KEYS = [
  'toggle_us', 'toggle_ctx_us', 'nested_us', 'nested_dataclass_us', 'nested_pydantic_us', 'parallel_us',
  'parallel_handlers_us', 'independent_us', 'busy_us', 'flat1000_us', 'flat1000_build_ms', 'initial_us',
  'snapshot_kb', 'busy_snapshot_kb', 'floor_us',
];
const QUICK = process.argv.includes('--quick');
const REPEATS = QUICK ? 3 : 9;
const SECONDS = QUICK ? 0.01 : 0.15;
const WARM_UP_SECONDS = QUICK ? 0.05 : 0.8; // the compiler of V8 needs longer than a table in Python
const REGIONS = 6;
const RING = 10;
const KEPT = 4000;
const BUSY_CHAIN = 20;

// ------------------------------------------------------------------------------------------------- measuring

const cpuSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

function spent(run, count) {
  const before = cpuSeconds();
  run(count);
  return cpuSeconds() - before;
}

function expectEqual(found, wanted) {
  if (!isDeepStrictEqual(found, wanted)) {
    throw new Error(`the machine stands at ${JSON.stringify(found)} and should stand at ${JSON.stringify(wanted)}`);
  }
}

function spreadOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)], least: sorted[0], greatest: sorted.at(-1) };
}

function steady(start) {
  const run = start();
  const began = cpuSeconds();
  let count = 1;
  while (spent(run, count) < SECONDS / 2) count *= 2;
  while (cpuSeconds() - began < WARM_UP_SECONDS) run(count);
  const perRepeat = Math.max(1, Math.round((count * SECONDS) / spent(run, count)));
  globalThis.gc();
  return spreadOf(Array.from({ length: REPEATS }, () => spent(run, perRepeat) / perRepeat));
}

function firstPass(start) {
  const trial = randomOrder(2000);
  const began = cpuSeconds();
  let cost = 0;
  do cost = spent(start(trial), trial.length) / trial.length; // compiles the engine; every machine is new
  while (cpuSeconds() - began < WARM_UP_SECONDS);
  const order = randomOrder(Math.min(20000, Math.max(2000, Math.trunc((3 * SECONDS) / cost))));
  const values = Array.from({ length: REPEATS }, () => {
    const run = start(order);
    globalThis.gc();
    return spent(run, order.length) / order.length;
  });
  return spreadOf(values);
}

function retained(start) {
  const make = start();
  make(10); // what is made once and shared is not part of the figure
  const values = Array.from({ length: QUICK ? 1 : 3 }, () => {
    globalThis.gc();
    globalThis.gc();
    const before = process.memoryUsage().heapUsed;
    const kept = make(KEPT);
    globalThis.gc();
    globalThis.gc();
    const bytes = process.memoryUsage().heapUsed - before - 8 * KEPT;
    return bytes / kept.length;
  });
  return spreadOf(values);
}

// Any fixed sequence serves; it differs from the one in Python, its statistics do not.
function randomOrder(count) {
  let seed = 20261130;
  return Array.from({ length: count }, () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * REGIONS);
  });
}

// -------------------------------------------------------------------------------------------------- machines

const ring = (size, event, move = (target) => target) => ({
  initial: 's0',
  states: Object.fromEntries(
    Array.from({ length: size }, (_, i) => [`s${i}`, { on: { [event]: move(`s${(i + 1) % size}`) } }]),
  ),
});

const ringMachine = (size) => createMachine({ id: 'ring', ...ring(size, 'T') });

const countingMachine = () =>
  createMachine({
    id: 'counting',
    context: { n: 0 },
    ...ring(2, 'T', (target) => ({ context }) => ({ target, context: { n: context.n + 1 } })),
  });

function nestedMachine() {
  const leaf = (target) => ({
    on: {
      E: [
        ({ context }) => (context.n < 0 ? { target, context: { n: context.n + 1 } } : undefined),
        ({ context }) => (context.n >= 0 ? { target, context: { n: context.n + 1 } } : undefined),
      ],
    },
  });
  const outer = (least) => ({ E: ({ context }) => (context.n < least ? { context: { n: 0 } } : undefined) });
  return createMachine({
    id: 'nested',
    initial: 'l1',
    context: { n: 0 },
    on: outer(-2),
    states: {
      l1: {
        initial: 'l2',
        on: outer(-1),
        states: { l2: { initial: 'x', on: outer(0), states: { x: leaf('y'), y: leaf('x') } } },
      },
      other: {},
    },
  });
}

const regionsMachine = (regions, event, move) =>
  createMachine({
    id: 'regions',
    type: 'parallel',
    states: Object.fromEntries(Array.from({ length: regions }, (_, r) => [`r${r}`, ring(RING, event(r), move)])),
  });

const inertWork = () => ({
  transition: (snapshot) => [snapshot, []],
  initialTransition: (input) => [{ status: 'active', output: undefined, error: undefined, input }, []],
  getInitialSnapshot: (_scope, input) => ({ status: 'active', output: undefined, error: undefined, input }),
  getPersistedSnapshot: (snapshot) => snapshot,
  restoreSnapshot: (snapshot) => snapshot,
});

function busyMachine() {
  const state = (other) => ({
    entry: ({ context }, _enqueue) => ({ context: { entered: context.entered + 1 } }),
    exit: ({ context }, _enqueue) => ({ context: { left: context.left + 1 } }),
    invoke: [{ src: 'work' }],
    after: { 30000: { target: other } },
    on: { T: other },
  });
  return createMachine({
    id: 'busy',
    initial: 'a',
    context: { entered: 0, left: 0 },
    actors: { work: inertWork() },
    states: { a: state('b'), b: state('a') },
  });
}

// ------------------------------------------------------------------------------------------------------ runs

function repeat(machine, type, stands) {
  let snapshot = initialTransition(machine)[0];
  let total = 0;
  const event = { type };
  return (count) => {
    let s = snapshot;
    for (let i = 0; i < count; i++) s = transition(machine, s, event)[0];
    snapshot = s;
    total += count;
    stands(snapshot, total);
  };
}

const inRing = (size) => (s, total) => expectEqual(s.value, `s${total % size}`);
const counted = (s, total) => expectEqual([s.value, s.context.n], [`s${total % 2}`, total]);
const nestedCounted = (s, total) =>
  expectEqual([s.value, s.context.n], [{ l1: { l2: 'xy'[total % 2] } }, total]);
const fourAdvanced = (s, total) =>
  expectEqual({ ...s.value }, Object.fromEntries([0, 1, 2, 3].map((r) => [`r${r}`, `s${total % RING}`])));

// In alpha.52 a step with a timer or an invocation costs more with every step before it (each builds its system on
// the one before: 80 microseconds at first, 3,000 after 3,000 steps). So the run starts again every twenty steps.
function busy() {
  const machine = busyMachine();
  const first = initialTransition(machine)[0];
  const event = { type: 'T' };
  return (count) => {
    let s = first;
    let steps = 0;
    for (let i = 0; i < count; i++) {
      if (steps === BUSY_CHAIN) {
        s = first;
        steps = 0;
      }
      s = transition(machine, s, event)[0];
      steps++;
    }
    expectEqual([s.value, s.context], ['ab'[steps % 2], { entered: steps + 1, left: steps }]);
    expectEqual([Object.keys(s.children).length, Object.keys(s.timers).length], [1, 1]);
  };
}

function independent(order) {
  const machine = regionsMachine(REGIONS, (r) => `NEXT${r}`);
  const byRegion = Array.from({ length: REGIONS }, (_, r) => ({ type: `NEXT${r}` }));
  const events = order.map((region) => byRegion[region]);
  const snapshot = initialTransition(machine)[0];
  return () => {
    let s = snapshot;
    for (const event of events) s = transition(machine, s, event)[0];
    const positions = Array.from({ length: REGIONS }, (_, r) => order.filter((region) => region === r).length % RING);
    expectEqual({ ...s.value }, Object.fromEntries(positions.map((position, r) => [`r${r}`, `s${position}`])));
  };
}

function building() {
  return (count) => {
    for (let i = 0; i < count; i++) expectEqual(initialTransition(ringMachine(1000))[0].value, 's0');
  };
}

function initial() {
  const machine = ringMachine(2);
  return (count) => {
    for (let i = 0; i < count; i++) initialTransition(machine);
  };
}

const snapshots = (make, type) => () => {
  const machine = make();
  const event = { type };
  return (count) => {
    let s = initialTransition(machine)[0];
    const kept = new Array(count);
    for (let i = 0; i < count; i++) kept[i] = s = transition(machine, s, event)[0];
    return kept;
  };
};

const PLAN = {
  toggle_us: () => steady(() => repeat(ringMachine(2), 'T', inRing(2))),
  toggle_ctx_us: () => steady(() => repeat(countingMachine(), 'T', counted)),
  nested_us: () => steady(() => repeat(nestedMachine(), 'E', nestedCounted)),
  parallel_us: () => steady(() => repeat(regionsMachine(4, () => 'NEXT'), 'NEXT', fourAdvanced)),
  parallel_handlers_us: () =>
    steady(() => repeat(regionsMachine(4, () => 'NEXT', (target) => () => ({ target })), 'NEXT', fourAdvanced)),
  independent_us: () => firstPass(independent),
  busy_us: () => steady(busy),
  flat1000_us: () => steady(() => repeat(ringMachine(1000), 'T', inRing(1000))),
  flat1000_build_ms: () => steady(building),
  initial_us: () => steady(initial),
  snapshot_kb: () => retained(snapshots(nestedMachine, 'E')),
  busy_snapshot_kb: () => retained(snapshots(busyMachine, 'T')),
};

const SCALES = { us: 1e6, ms: 1e3, kb: 1 / 1024 };
const rounded = (value) => Number(value.toPrecision(4));
const figures = {};
const spread = {};
for (const key of KEYS) {
  if (!(key in PLAN)) {
    figures[key] = null;
    continue;
  }
  process.stderr.write(`  xstate ${key}\n`);
  const scale = SCALES[key.slice(key.lastIndexOf('_') + 1)];
  const { median, least, greatest } = PLAN[key]();
  figures[key] = rounded(median * scale);
  spread[key] = [rounded(least * scale), rounded(greatest * scale)];
}
const { version } = createRequire(import.meta.url)('xstate/package.json');
process.stdout.write(`${JSON.stringify({ ...figures, spread, version })}\n`);
