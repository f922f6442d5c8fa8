import { describe, expect, it } from 'vitest';
import { type LeftRecord, readRecord, recordData } from './left-record.ts';

const whole: LeftRecord = {
  node: 'm0.c.example',
  addresses: ['192.0.2.7', '2001:db8::7'],
  role: 'master',
  isEtcdOverridden: false,
};
const configMap = (data: unknown) => ({ metadata: { name: 'x' }, data });

describe('the record', () => {
  it.each<[string, LeftRecord]>([
    ['a whole one', whole],
    ['one without addresses', { ...whole, addresses: [] }],
    ['one of changed settings', { ...whole, isEtcdOverridden: true }],
    ['one with hosts', { ...whole, hosts: [{ name: 'w0', addresses: [], stage: 'Done' }] }],
  ])('%s is read as it was written', (_, record) => {
    expect(readRecord(configMap(recordData(record)))).toEqual(record);
  });

  it.each<[string, unknown]>([
    ['no data', undefined],
    ['another format', { ...recordData(whole), format: '2' }],
    ['no node', { ...recordData(whole), node: '' }],
    ['a node that is no name', { ...recordData(whole), node: 'm0,system:masters' }],
    ['an answer that is none', { ...recordData(whole), etcdOverridden: 'yes' }],
    ['hosts without names', { ...recordData(whole), hosts: '[{}]' }],
  ])('with %s is refused', (_, data) => {
    expect(() => readRecord(configMap(data))).toThrow(
      expect.objectContaining({ code: 'cluster.bad-record' }),
    );
  });
});
