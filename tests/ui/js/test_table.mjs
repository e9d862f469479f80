import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inOrder } from '../../../riverrun/ui/parts/table.js';

const columns = [
  { title: 'Name', cell: String, by: (/** @type {any} */ row) => row.name },
  { title: 'Records', cell: String, by: (/** @type {any} */ row) => row.records },
  { title: 'Bar', cell: String },
];
const rows = [{ name: 'b', records: 10 }, { name: 'a', records: undefined }, { name: 'c', records: 9 }];
const names = (/** @type {any[]} */ found) => found.map((row) => row.name).join('');

test('rows are sorted by numbers as numbers, and by words', () => {
  assert.equal(names(inOrder(rows, columns, { column: 'Records', down: true })), 'bca');
  assert.equal(names(inOrder(rows, columns, { column: 'Name', down: false })), 'abc');
});

test('what is unknown stands at one end', () => {
  assert.equal(names(inOrder(rows, columns, { column: 'Records', down: false })), 'acb');
});

test('rows stay as they are without an order, and are never changed in place', () => {
  assert.equal(inOrder(rows, columns, undefined), rows);
  assert.equal(inOrder(rows, columns, { column: 'Bar', down: false }), rows);
  inOrder(rows, columns, { column: 'Name', down: false });
  assert.equal(names(rows), 'bac');
});
