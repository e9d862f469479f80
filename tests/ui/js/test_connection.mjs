import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../riverrun/ui/core/api.js';
import { Connection } from '../../../riverrun/ui/core/connection.js';

const away = new Problem('away', 'nobody answers');
const slow = new Problem('slow', 'no answer within 10 s');

test('it is away when a request fails and nothing was answered since it was sent', () => {
  const connection = new Connection();
  connection.answered(100);
  connection.failed(away, 200, 210);
  assert.equal(connection.problem, away);
  assert.equal(connection.last, 100);
});

test('it is there when others were answered while one was waited for', () => {
  const connection = new Connection();
  connection.answered(5000);
  assert.equal(connection.failed(slow, 100, 10_100), false);
  assert.equal(connection.problem, undefined);
});

test('it is back with the first answer, which is told once', () => {
  const connection = new Connection();
  connection.failed(away, 1, 2);
  let told = 0;
  connection.watchers.add(() => { told += 1; });
  assert.equal(connection.answered(3), true);
  assert.equal(connection.answered(4), false);
  assert.equal(told, 1);
});

test('whoever says no is there', () => {
  for (const kind of /** @type {const} */ (['gone', 'refused', 'broken'])) {
    const connection = new Connection();
    connection.failed(away, 1, 2);
    assert.equal(connection.failed(new Problem(kind, 'no'), 3, 4), true, kind);
    assert.equal(connection.problem, undefined, kind);
    assert.equal(connection.last, 4, kind);
  }
});

test('a token that is asked for is told even when something else was answered', () => {
  const connection = new Connection();
  connection.answered(50);
  connection.failed(new Problem('denied', 'token?'), 10, 60);
  assert.equal(connection.problem?.kind, 'denied');
});
