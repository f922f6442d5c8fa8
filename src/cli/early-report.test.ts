import { describe, expect, it } from 'vitest';
import { decideEarlyReport, journalPathOf } from './early-report.ts';
import { readSettings } from '../config/sources.ts';

const line = '--url http://h:1/p/ --cluster-id c --host-id h --boot-device /dev/sda';
const decide = (words: string, environment: Record<string, string> = {}) =>
  decideEarlyReport(readSettings(words.split(' '), environment).layers);

describe('decideEarlyReport', () => {
  it('is the first stage of a complete line, with the role as it was given', () => {
    const request = decide(`-r arbiter --infra-env-id i ${line}`, { PULL_SECRET_TOKEN: 't' });
    expect(request).toMatchObject({
      stage: 'Starting installation',
      info: 'arbiter',
      isInsecure: false,
      caFile: '',
      noProxy: '',
    });
    expect(request).toMatchObject({ service: 'http://h:1/p/', infraEnvId: 'i', hostId: 'h' });
    expect(request?.token.reveal()).toBe('t');
  });

  it('goes to the cluster where no infra-env is named, as a master where no role is', () => {
    const request = decide(line);
    expect(request?.info).toBe('master');
    expect(request).toMatchObject({ infraEnvId: 'c', hostId: 'h' });
  });

  it('passes on how the service is to be trusted', () => {
    expect(decide(`${line} --insecure --cacert /ca --no-proxy .svc`)).toMatchObject({
      isInsecure: true,
      caFile: '/ca',
      noProxy: '.svc',
    });
  });

  it.each([
    ['version 1 of the service', `${line} --service.api v1`],
    ['a token in a file', `${line} --service.tokenFile /t`],
    ['a file of dry hosts, which may be broken', `${line} --dry-run-cluster-hosts-path /f`],
    ['no service', '--ignition.url http://i --boot-device /dev/sda'],
  ])('waits with %s', (_, words) => {
    expect(decide(words)).toBeUndefined();
  });

  it('refuses a line that is not complete', () => {
    expect(() => decide('-r worker --url http://h')).toThrow(
      expect.objectContaining({ code: 'config.incomplete' }),
    );
  });
});

describe('journalPathOf', () => {
  it.each([
    ['--verbose', '/opt/install-dir/journal.jsonl'],
    ['--dry-run --force-id a/b', '/opt/install-dir/journal-a%2Fb.jsonl'],
    ['--dry-run', '/opt/install-dir/journal.jsonl'],
    ['--force-id a', '/opt/install-dir/journal.jsonl'],
    ['--host.root /mnt/', '/mnt/opt/install-dir/journal.jsonl'],
  ])('has its place with %s', (words, path) => {
    expect(journalPathOf(readSettings(words.split(' '), {}).layers)).toBe(path);
  });
});
