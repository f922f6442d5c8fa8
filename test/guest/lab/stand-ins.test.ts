import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { isMcsLog } from '../../../src/cluster/mcs-log.ts';
import { readFileContent } from '../../../src/ignition/resource.ts';
import { parseValidConfig } from '../../../src/ignition/parse.ts';
import { bootstrapIgnition } from '../../../mocks/inventory/ignition-files.ts';
import { clusterSeed } from '../../../mocks/inventory/records.ts';
import {
  bootstrapScripts,
  onceFromScript,
  placeFile,
  placeStandIns,
  quoted,
  withGuestScripts,
} from './stand-ins.ts';

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

describe('a word of Bash', () => {
  it.each([
    ['/etc/hostname', "'/etc/hostname'"],
    ['$(reboot) `reboot`', "'$(reboot) `reboot`'"],
    ["it's", "'it'\\''s'"],
  ])('of %s is %s', (text, word) => {
    expect(quoted(text)).toBe(word);
  });
});

describe('a file in a guest', () => {
  it('comes with its bytes, its mode and the folders on the way', () => {
    expect(placeFile({ path: '/a/b c', mode: 0o600, content: 'x\n' })).toBe(
      "base64 --decode <<< 'eAo=' | install -D -m 0600 /dev/stdin '/a/b c'",
    );
  });
});

const script = (config: object): readonly string[] =>
  onceFromScript(JSON.stringify({ ignition: { version: '3.2.0' }, ...config })).split('\n');

describe('an Ignition that is applied once', () => {
  it('writes files with their modes, those without one as 0644', () => {
    const lines = script({
      storage: {
        files: [
          { path: '/a', mode: 0o600, contents: { source: 'data:,one' } },
          {
            path: '/b',
            contents: {
              compression: 'gzip',
              source: `data:;base64,${gzipSync('two').toString('base64')}`,
            },
          },
        ],
      },
    });
    expect(lines).toContain(placeFile({ path: '/a', mode: 0o600, content: 'one' }));
    expect(lines).toContain(placeFile({ path: '/b', mode: 0o644, content: 'two' }));
  });

  it('enables a unit that is to be enabled, after it was written, and starts none', () => {
    const lines = script({
      systemd: {
        units: [
          { name: 'a.service', enabled: true, contents: '[Unit]\n' },
          { name: 'b.service', contents: '[Unit]\n', dropins: [{ name: 'c.conf', contents: '#' }] },
        ],
      },
    });
    const at = (text: string): number => lines.findIndex((line) => line.includes(text));
    expect(at('/etc/systemd/system/a.service')).toBeGreaterThan(0);
    expect(at("systemctl enable --quiet 'a.service'")).toBe(at('system/a.service') + 1);
    expect(at('/etc/systemd/system/b.service.d/c.conf')).toBeGreaterThan(0);
    expect(lines.join('\n')).not.toMatch(/systemctl (start|enable --quiet 'b)/);
  });

  it('makes directories before files, and links after them', () => {
    const lines = script({
      storage: {
        directories: [{ path: '/d', mode: 0o700 }],
        files: [{ path: '/d/f', contents: { source: '' } }],
        links: [{ path: '/l', target: '/d/f' }],
      },
    });
    expect(lines.slice(1, 4)).toEqual([
      "install -d -m 0700 '/d'",
      placeFile({ path: '/d/f', mode: 0o644, content: '' }),
      "ln -sfn '/d/f' '/l'",
    ]);
  });

  it('takes what the service makes for a bootstrap host', () => {
    const text = onceFromScript(bootstrapIgnition(clusterSeed()));
    expect(text).toContain("/dev/stdin '/root/.docker/config.json'");
  });

  it('refuses what is no Ignition', () => {
    expect(() => onceFromScript('{}')).toThrow(/version/);
  });
});

const desk = 'http://10.0.2.2:1234';
const config = parseValidConfig(withGuestScripts(bootstrapIgnition(clusterSeed()), desk));

describe('the bootstrap config of a virtual machine', () => {
  it.each(config.systemd?.units ?? [])('has a script for $name, once', ({ contents = '' }) => {
    const path = /^ExecStart=(.*)$/m.exec(contents)?.[1] ?? '';
    const found = config.storage?.files?.filter((file) => file.path === path) ?? [];
    expect(found.map(({ mode }) => mode)).toEqual([0o755]);
    expect(Buffer.from(readFileContent(config, path)).toString()).toMatch(/^#!\/bin\/bash\n/);
  });

  it('keeps what the service put into it', () => {
    expect(readFileContent(config, '/root/.docker/config.json').length).toBeGreaterThan(0);
  });
});

describe('the scripts of a bootstrap host', () => {
  const scripts = [...bootstrapScripts(desk)];

  it.each(scripts)('%s has every blank filled in', (_, text) => {
    expect(text).not.toMatch(/@[A-Z]+@/);
  });

  it('log requests where an agent looks for them', () => {
    const [, kubelet = ''] = scripts.find(([path]) => path.endsWith('/kubelet.sh')) ?? [];
    const name = /"\/var\/log\/containers\/(.*)"$/m.exec(kubelet)?.[1] ?? '';
    expect(isMcsLog(name)).toBe(true);
  });
});
