import { describe, expect, it } from 'vitest';
import { parseValidConfig } from '../../ignition/parse.ts';
import { readPointer } from '../../ignition/pointer.ts';
import { embedServed } from './self-contained.ts';

const served = '{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/ä"}]}}';
const extra = { source: 'https://192.0.2.9/extra.ign' };
const pointer = {
  ignition: {
    version: '3.2.0',
    config: {
      merge: [
        {
          source: 'http://api-int.example:22624/config/worker',
          verification: { hash: 'sha256-1' },
        },
        extra,
      ],
    },
    security: { tls: { certificateAuthorities: [{ source: 'data:,ca' }] } },
  },
  storage: {
    files: [{ path: '/etc/hostname', overwrite: true, mode: 420, contents: { source: 'data:,w' } }],
  },
};

describe('embedServed', () => {
  const text = embedServed(JSON.stringify(pointer), served);
  const { config } = parseValidConfig(text);

  it('puts the config where the pointer led', () => {
    const found = readPointer(config);
    expect(found.kind).toBe('embedded');
    expect(found.kind === 'embedded' && Buffer.from(found.content).toString()).toBe(served);
  });

  it('leaves the rest of the pointer, other configs too', () => {
    const {
      ignition: { config: references, ...ignition },
      ...rest
    } = JSON.parse(text) as typeof pointer;
    expect(references.merge.slice(1)).toEqual([extra]);
    expect(Object.keys(references.merge[0] ?? {})).toEqual(['source']);
    expect(ignition).toEqual({ version: '3.2.0', security: pointer.ignition.security });
    expect(rest).toEqual({ storage: pointer.storage });
  });

  it('puts another one there the next time', () => {
    const again = embedServed(embedServed(JSON.stringify(pointer), '{}'), served);
    expect(again).toBe(text);
  });

  it('refuses a config that leads nowhere', () => {
    expect(() => embedServed('{"ignition":{"version":"3.2.0"}}', served)).toThrow(
      expect.objectContaining({ code: 'ignition.pointer-missing' }),
    );
  });
});
