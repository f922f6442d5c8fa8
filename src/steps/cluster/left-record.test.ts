import { describe, expect, it } from 'vitest';
import { type LeftRecord, readRecord, recordData } from './left-record.ts';

const whole: LeftRecord = {
  node: 'm0.c.example',
  addresses: ['192.0.2.7', '2001:db8::7'],
  role: 'master',
  isEtcdOverridden: false,
};
const configMap = (data: unknown) => ({ metadata: { name: 'x' }, data });

describe('readRecord', () => {
  it.each<[string, LeftRecord]>([
    ['a complete record', whole],
    ['a record without addresses', { ...whole, addresses: [] }],
    ['a record of an overridden etcd', { ...whole, isEtcdOverridden: true }],
    ['a record with hosts', { ...whole, hosts: [{ name: 'w0', addresses: [], stage: 'Done' }] }],
  ])('reads %s as it was written', (_, record) => {
    expect(readRecord(configMap(recordData(record)))).toEqual(record);
  });

  it.each<[string, unknown]>([
    ['no data', undefined],
    ['another format', { ...recordData(whole), format: '2' }],
    ['no node', { ...recordData(whole), node: '' }],
    ['an invalid node name', { ...recordData(whole), node: 'm0,system:masters' }],
    ['an invalid boolean', { ...recordData(whole), etcdOverridden: 'yes' }],
    ['hosts without names', { ...recordData(whole), hosts: '[{}]' }],
  ])('refuses a record with %s', (_, data) => {
    expect(() => readRecord(configMap(data))).toThrow(
      expect.objectContaining({ code: 'cluster.bad-record' }),
    );
  });
});
