import { describe, expect, it } from 'vitest';
import { Config } from '../../config/schema.ts';
import { proxyEnv } from '../host-commands.ts';
import { writerArgv, type WriterSource } from './writer-argv.ts';

const ignition = '/opt/install-dir/worker-h.ign';
const own: WriterSource = { kind: 'own' };
const plain = ['coreos-installer', 'install', '--insecure', '-i', ignition];

describe('the command of the writer', () => {
  it.each<[string, WriterSource, string[], string[]]>([
    ['nothing further', own, [], []],
    ['kernel arguments', own, ['--append-karg', 'ip=eth0:dhcp'], ['--append-karg', 'ip=eth0:dhcp']],
    ['a file', { kind: 'file', path: '/a.raw' }, ['-n'], ['--image-file', '/a.raw', '-n']],
    ['a URL', { kind: 'url', url: 'http://b.example' }, [], ['--image-url', 'http://b.example']],
  ])('has, with %s, the words in their places', (...[, source, args, words]) => {
    expect(writerArgv({ ignition, source, args, disk: '/dev/sda' })).toEqual([
      ...plain,
      ...words,
      '/dev/sda',
    ]);
  });

  it('gets the proxies in both cases, and never one for the machine itself', () => {
    const { proxy } = Config.parse({ proxy: { http: 'http://p.example', no: '.svc' } });
    expect(proxyEnv(proxy)).toEqual({
      http_proxy: 'http://p.example',
      HTTP_PROXY: 'http://p.example',
      no_proxy: '.svc,127.0.0.1,localhost',
      NO_PROXY: '.svc,127.0.0.1,localhost',
    });
    expect(proxyEnv(Config.parse({ proxy: { no: '.svc' } }).proxy)).toEqual({});
  });
});
