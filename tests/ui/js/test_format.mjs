import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ago, bytes, clock, count, duration, exact, moment, NONE, percent, rate } from '../../../riverrun/ui/core/format.js';

test('what is missing is a dash in every format', () => {
  for (const format of [ago, bytes, clock, count, duration, exact, moment, percent, rate]) {
    for (const missing of [undefined, null, NaN, Infinity, -Infinity]) {
      assert.equal(format(missing), NONE, `${format.name}(${missing})`);
    }
  }
});

test('times and sizes that cannot be are missing: -1 stands for them in the interface', () => {
  for (const format of [ago, bytes, clock, duration, moment]) assert.equal(format(-1), NONE, format.name);
});

test('counts have three digits and a unit', () => {
  const shown = new Map([[0, '0'], [7, '7'], [0.25, '0.25'], [999, '999'], [1234, '1.23 k'], [56_789, '56.8 k'], [-1500, '-1.5 k'], [2.5e6, '2.5 M']]);
  for (const [value, words] of shown) assert.equal(count(value), words);
  assert.equal(rate(1500), '1.5 k/s');
});

test('a value just below the next unit is not shown as a thousand of this one', () => {
  assert.equal(count(999_999), '1 M');
  assert.equal(bytes(1024 * 1024 - 1), '1 MiB');
});

test('sizes go by 1024', () => {
  const shown = new Map([[0, '0 B'], [1023, '1023 B'], [1536, '1.5 KiB'], [5 * 2 ** 30, '5 GiB']]);
  for (const [value, words] of shown) assert.equal(bytes(value), words);
});

test('durations have at most two units', () => {
  const shown = new Map([
    [0, '0 ms'], [2.34, '2.3 ms'], [950, '950 ms'], [999.7, '1.0 s'], [1500, '1.5 s'], [9999, '10 s'], [61_000, '1 m 1 s'],
    [3_600_000, '1 h'], [90_061_000, '1 d 1 h'],
  ]);
  for (const [value, words] of shown) assert.equal(duration(value), words);
});

test('shares are whole percents', () => {
  assert.equal(percent(0.505), '51 %');
  assert.equal(percent(0), '0 %');
});

test('a moment that a wrong clock puts into the future is not a negative while ago', () => {
  assert.equal(ago(5000, 4000), '0 ms ago');
  assert.equal(ago(1000, 3500), '2.5 s ago');
});
