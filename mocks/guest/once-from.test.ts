import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bootstrapIgnition } from '../inventory/bootstrap-ignition.ts';
import { clusterSeed } from '../inventory/seed.ts';
import { placeFile } from './install-script.ts';
import { onceFromScript } from './once-from.ts';

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
