import { describe, expect, it } from 'vitest';
import { placeStandIns } from './live-stand-ins.ts';

const paths = (script: string): readonly string[] =>
  [...script.matchAll(/\/dev\/stdin '(.*)'$/gm)].map((match) => match[1] ?? '');

describe('the stand-ins of a live guest', () => {
  it.each([
    ['master', ['/usr/local/bin/podman']],
    [
      'bootstrap',
      ['/usr/local/bin/podman', '/usr/bin/oc', '/etc/systemd/system/NetworkManager.service'],
    ],
  ] as const)('of a %s are %j', (role, expected) => {
    expect(paths(placeStandIns(role, 'http://10.0.2.2:1'))).toEqual(expected);
  });

  it('know where the lab is', () => {
    const script = placeStandIns('master', 'http://10.0.2.2:1');
    const [, base64 = ''] = /<<< '(.*)' \|/.exec(script) ?? [];
    const podman = Buffer.from(base64, 'base64').toString();
    expect(podman).toContain('http://10.0.2.2:1/once-from');
    expect(podman).not.toContain('@DESK@');
  });
});
