import { describe, expect, it } from 'vitest';

import { lintConfig, parseConfig, parseValidConfig, renderConfig } from './parse.ts';

const text = (members = ''): string => `{"ignition":{"version":"3.2.0"}${members}}`;
const refusal = (input: string | Uint8Array): unknown => {
  try {
    return parseConfig(input);
  } catch (failure) {
    return failure;
  }
};

describe('reading a config', () => {
  it('gives its content and its spec', () => {
    const { config, minor, warnings } = parseConfig(
      Buffer.from(text(',"storage":{"files":[{"path":"/a","mode":420}]}')),
    );
    expect(config).toEqual({
      ignition: { version: '3.2.0' },
      storage: { files: [{ path: '/a', mode: 420 }] },
    });
    expect({ minor, warnings }).toEqual({ minor: 2, warnings: [] });
  });

  it('fills in what has no null state', () => {
    const { config } = parseConfig(
      text(',"storage":{"disks":[{"partitions":[{"label":"a"}]}],"links":[{}],"raid":[{}]}'),
    );
    expect(config.storage).toEqual({
      disks: [{ device: '', partitions: [{ number: 0, label: 'a' }] }],
      links: [{ path: '', target: '' }],
      raid: [{ name: '', level: '' }],
    });
  });

  it('takes keys in any case, as Go does', () => {
    const { config, warnings } = parseConfig(
      '{"IGNITION":{"Version":"3.2.0"},"\u017ftorage":{"Files":[{"PATH":"/a"}]},"Storage":{"links":[]}}',
    );
    expect(config).toEqual({
      ignition: { version: '3.2.0' },
      storage: { files: [{ path: '/a' }], links: [] },
    });
    expect(warnings.map(({ rule, path }) => [rule, path])).toEqual([
      ['wrong-case-key', 'IGNITION'],
      ['wrong-case-key', 'IGNITION.Version'],
      ['wrong-case-key', '\u017ftorage'],
      ['wrong-case-key', '\u017ftorage.Files'],
      ['wrong-case-key', '\u017ftorage.Files[0].PATH'],
      ['wrong-case-key', 'Storage'],
    ]);
  });

  it.each([
    [',"storag":{}', 'storag', 'is storage meant'],
    [',"kernelArguments":{}', 'kernelArguments', '3.3.0'],
    [',"__proto__":{"a":1}', '__proto__', 'ignored'],
    [',"constructor":{}', 'constructor', 'ignored'],
  ])('leaves out and reports an unknown key: %s', (members, path, said) => {
    const { config, warnings } = parseConfig(text(members));
    expect(config).toEqual({ ignition: { version: '3.2.0' } });
    expect(warnings).toMatchObject([{ rule: 'unknown-key', path, severity: 'warning' }]);
    expect(warnings[0]?.message).toContain(said);
  });

  it('takes the last of a key that is given twice, and says so', () => {
    const { config, warnings } = parseConfig(
      text(',"storage":{"files":[{"path":"/a","mode":1,"mode":2}]}'),
    );
    expect(config.storage?.files).toEqual([{ path: '/a', mode: 2 }]);
    expect(warnings).toMatchObject([{ rule: 'duplicate-key', path: 'storage.files[0].mode' }]);
  });

  it('reports bytes that are not UTF-8', () => {
    const bytes = Buffer.from(text(',"storage":{"files":[{"path":"/é"}]}'), 'latin1');
    const { config, warnings } = parseConfig(bytes);
    expect(config.storage?.files).toEqual([{ path: '/\u{fffd}' }]);
    expect(warnings).toMatchObject([{ rule: 'invalid-utf8', path: '' }]);
  });

  it.each([
    ['{', 1, 2],
    ['{"a":1,}', 1, 8],
    ['{\n  "a": nul\n}', 2, 8],
    ['{"a":01}', 1, 7],
    ['{"a":"\n"}', 1, 7],
    ['{"a":"\\x"}', 1, 7],
    ['{"a":"', 1, 7],
    ['{a:1}', 1, 2],
    ['{"a" 1}', 1, 6],
    ['[1 2]', 1, 4],
    ['[', 1, 2],
    [`${text()}\n{}`, 2, 1],
    ['not a config', 1, 1],
    [`\u{feff}${text()}`, 1, 1],
    ['['.repeat(600), 1, 502],
  ])('says where it is not JSON: %j', (input, line, column) => {
    expect(refusal(input)).toMatchObject({
      code: 'ignition.not-json',
      kind: 'input',
      context: { line, column },
    });
  });

  it('quotes nothing of what it refuses', () => {
    const failure = refusal('{"passwordHash": hunter2}') as Error;
    expect(JSON.stringify([failure.message, failure])).not.toContain('hunter2');
    expect(failure.cause).toBeUndefined();
  });

  it.each([
    ['{"kind":"Error","id":409,"href":"","code":"409","reason":"no"}', '409', 'no'],
    ['{"code":401,"message":"no token"}', 401, 'no token'],
  ])('tells an error message of the service: %s', (input, code, reason) => {
    expect(refusal(input)).toMatchObject({
      code: 'ignition.error-body',
      kind: 'remote',
      context: { code, reason },
    });
  });

  it.each([
    ['', 'ignition.empty'],
    [' \n\t', 'ignition.empty'],
    ['\n <html>', 'ignition.html-page'],
    ['[]', 'ignition.no-version'],
    ['"text"', 'ignition.no-version'],
    ['{"code":1}', 'ignition.no-version'],
  ])('refuses what is no config: %j', (input, code) => {
    expect(refusal(input)).toMatchObject({ code });
  });

  it('counts all values of the wrong type and names the first', () => {
    const members =
      ',"storage":{"files":[{"path":1,"mode":"420","overwrite":0}],"links":{}},"passwd":1';
    expect(refusal(text(members))).toMatchObject({
      code: 'ignition.invalid',
      context: { rule: 'wrong-type', path: 'storage.files[0].path', errors: 5 },
    });
  });
});

describe('reading a config that must be valid', () => {
  it('passes on what is only odd', () => {
    const { warnings } = parseValidConfig(text(',"x":1,"Storage":{"files":[{"path":"/a"}]}'));
    expect(warnings.map(({ rule }) => rule)).toEqual(['unknown-key', 'wrong-case-key']);
  });

  it('refuses what breaks a rule', () => {
    expect(() => parseValidConfig(text(',"storage":{"files":[{"path":"a"}]}'))).toThrow(
      expect.objectContaining({
        code: 'ignition.invalid',
        kind: 'input',
        context: { rule: 'path-relative', path: 'storage.files[0].path', errors: 1 },
      }),
    );
  });

  it.each(['files', 'directories', 'links', 'disks', 'filesystems', 'luks', 'raid'])(
    'warns of a spec that is newer, whose %s are of another type',
    (list) => {
      const newer = `{"ignition":{"version":"3.6.0"},"storage":{"${list}":["x"]}}`;
      expect(lintConfig(newer).findings.map(({ rule }) => rule)).toContain('wrong-type');
      expect(parseValidConfig(newer).warnings.map(({ rule }) => rule)).toContain('newer-spec');
    },
  );

  it('warns of a spec that is newer, and of what the older rules say of it', () => {
    const { config, warnings } = parseValidConfig(
      '{"ignition":{"version":"3.6.0"},"storage":{"files":[{"path":"a","new":1}]}}',
    );
    expect(warnings.map(({ rule, severity }) => [rule, severity])).toEqual([
      ['newer-spec', 'warning'],
      ['unknown-key', 'warning'],
      ['path-relative', 'warning'],
    ]);
    // Written again it would lose what is not known.
    expect(() => renderConfig(config)).toThrow(
      expect.objectContaining({ code: 'ignition.version-unsupported' }),
    );
  });
});
