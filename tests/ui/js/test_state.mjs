// What the state browser decides: cells, outlines, skew in words, which snapshots and which state.

import { test } from 'node:test';
import assert from 'node:assert/strict';

import {
  amount, cellInWords, cellsOf, columnsFor, heat, outlineOf, partsOf, spreadInWords, sum,
} from '../../../riverrun/ui/state/spread.js';
import { choicesOf, chosenOf, folder, latestOf, rowsOf, typesOf } from '../../../riverrun/ui/state/snapshots.js';

/** @param {(number | null)[]} entries @param {number} parallelism */
function groupsOf(entries, parallelism) {
  const most = entries.length;
  return {
    parallelism,
    max_parallelism: most,
    subtasks: Array.from({ length: parallelism }, (_, n) => [Math.ceil((n * most) / parallelism), Math.ceil(((n + 1) * most) / parallelism) - 1]),
    entries,
    bytes: entries.map((value) => (value === null ? null : value * 10)),
    complete: !entries.includes(null),
    estimated: false,
  };
}

test('every key group is a cell, and very many are put together', () => {
  const few = cellsOf(groupsOf([1, 2, 3, null], 2), 'entries');
  assert.deepEqual(few.map((cell) => [cell.first, cell.last, cell.value, cell.subtask]), [[0, 0, 1, 0], [1, 1, 2, 0], [2, 2, 3, 1], [3, 3, null, 1]]);
  const many = cellsOf(groupsOf(Array(32768).fill(1), 7), 'bytes');
  assert.equal(many.length, 1024);
  assert.equal(sum(many.map((cell) => cell.value)), 327680);
  assert.deepEqual([many[0].first, many[0].last, many.at(-1)?.last], [0, 31, 32767]);
});

test('columns are a power of two and never more than cells', () => {
  assert.deepEqual([1, 5, 16, 128, 256, 1024, 1000].map(columnsFor), [1, 5, 8, 16, 32, 64, 64]);
});

test('lines stand between the cells of different subtasks only', () => {
  const cells = cellsOf(groupsOf(Array(8).fill(1), 2), 'entries');
  assert.equal(outlineOf(cells, 4), 'M0 1h1M1 1h1M2 1h1M3 1h1');
  assert.equal(outlineOf(cells, 8), 'M4 0v1');
  assert.equal(outlineOf(cellsOf(groupsOf([1, 1], 1), 'entries'), 2), '');
});

test('subtasks hold the sums of their key groups, if all are known', () => {
  const parts = partsOf(groupsOf([1, 2, 3, null, 5, 6, 7, 8], 4));
  assert.deepEqual(parts.map(({ first, last, entries }) => [first, last, entries]), [[0, 1, 3], [2, 3, null], [4, 5, 11], [6, 7, 15]]);
});

test('skew is told in words', () => {
  const skewed = spreadInWords(groupsOf([100, 10, 10, 10, 10, 10, 10, 10], 4), 'entries');
  assert.equal(skewed.tone, 'wait');
  assert.match(skewed.words, /^Subtask 0 holds 65 %, 2\.6 times an even share; key group 0 is the largest with 100 entries \(59 %\)\.$/);
  assert.equal(spreadInWords(groupsOf(Array(8).fill(50), 4), 'bytes').tone, 'good');
  assert.match(spreadInWords(groupsOf([1, 0, 0, 0], 2), 'entries').words, /^There is little state; key group 0 is the largest with 1 entry/);
  assert.match(spreadInWords(groupsOf([1, null], 2), 'entries').words, /^Only 1 of 2 key groups were looked at/);
  assert.equal(spreadInWords(groupsOf([0, 0], 2), 'entries').words, 'The state is empty.');
  assert.match(spreadInWords(groupsOf([5, 5], 1), 'entries').words, /^One subtask holds everything/);
});

test('values and cells are words', () => {
  assert.deepEqual([amount(1, 'entries'), amount(2048, 'bytes'), amount(null, 'bytes'), amount(undefined, 'entries')], ['1 entry', '2 KiB', 'not looked at', 'not looked at']);
  const [cell] = cellsOf(groupsOf(Array(4096).fill(1), 4096), 'entries');
  assert.equal(cellInWords(cell, 'entries'), 'Key groups 0 to 3, subtasks 0 to 3: 4 entries');
  assert.deepEqual([heat(0, 0), heat(5, 10), heat(20, 10)], [0, 50, 100]);
});

test('only snapshots that are complete and still there can be looked into, newest first', () => {
  const checkpoints = {
    history: [
      { id: 5, status: 'IN_PROGRESS', trigger_timestamp: 50 },
      { id: 4, status: 'COMPLETED', external_path: '/cp/chk-4/_metadata', trigger_timestamp: 40, is_savepoint: false },
      { id: 3, status: 'COMPLETED', external_path: '/cp/chk-3/_metadata', trigger_timestamp: 30, discarded: true },
      { id: 2, status: 'FAILED', trigger_timestamp: 20 },
    ],
    latest: {
      completed: { id: 4, status: 'COMPLETED', external_path: '/cp/chk-4/_metadata', trigger_timestamp: 40 },
      savepoint: { id: 1, status: 'COMPLETED', external_path: '/sp/1', trigger_timestamp: 10, is_savepoint: true },
    },
  };
  assert.deepEqual(choicesOf(checkpoints).map(({ path, savepoint }) => [path, savepoint]), [['/cp/chk-4', false], ['/sp/1', true]]);
  assert.match(choicesOf(checkpoints)[1].words, /^Savepoint 1, /);
  assert.equal(latestOf(checkpoints), '/cp/chk-4');
  assert.equal(latestOf({}), undefined);
  assert.equal(folder('/a/b//'), '/a/b');
});

const STATE = { kind: 'value', keyed: true, key_type: 'Types.STRING()', value_type: null, map_key_type: null, namespaced: false };

test('types are told without what programs write around them', () => {
  assert.equal(typesOf(STATE), 'STRING → pickled');
  assert.equal(typesOf({ ...STATE, kind: 'map', map_key_type: 'Types.LONG()', value_type: 'Types.TUPLE([Types.INT(), Types.STRING()])' }), 'STRING → map of LONG to TUPLE([INT, STRING])');
  assert.equal(typesOf({ ...STATE, kind: 'list', namespaced: true }), 'STRING, window → list of pickled');
  assert.equal(typesOf({ ...STATE, kind: 'timers' }), 'timers of STRING');
  assert.equal(typesOf({ ...STATE, kind: 'broadcast', keyed: false }), 'pickled → pickled');
  assert.equal(typesOf({ ...STATE, kind: 'operator list', keyed: false, value_type: 'Types.LONG()' }), 'LONG');
});

test('the state that is meant is found by any name of its operator; else the largest', () => {
  const operators = [
    { id: 'a1', uid: null, name: 'source', states: [{ name: 'positions', keyed: false, bytes: 900 }] },
    { id: 'b2', uid: 'totals', name: 'sum', states: [{ name: 's', keyed: true, bytes: 5 }, { name: 't', keyed: true, bytes: 7 }, { name: 'u', keyed: true, bytes: null }] },
  ];
  assert.equal(rowsOf(operators).length, 4);
  assert.equal(chosenOf(operators, null, null)?.state.name, 't');
  for (const name of ['b2', 'totals', 'sum']) assert.equal(chosenOf(operators, name, 's')?.id, 'b2 s');
  assert.equal(chosenOf(operators, 'totals', 'nothing'), undefined);
  assert.equal(chosenOf(operators.slice(0, 1), null, null)?.state.name, 'positions');
  assert.equal(chosenOf([], null, null), undefined);
});
