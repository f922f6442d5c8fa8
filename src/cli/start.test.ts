import { describe, expect, it } from 'vitest';
import type { ReportRequest } from './early-report.ts';
import type { CommandCall, InstallCall } from './program.ts';
import { start } from './start.ts';

const whole = '-r worker --url http://h --cluster-id c --host-id h --boot-device /dev/sda';

interface Setting {
  readonly environment?: Record<string, string>;
  readonly files?: readonly string[];
}

async function run(line: string, { environment = {}, files = [] }: Setting = {}) {
  const seen = {
    out: '',
    errors: '',
    order: [] as string[],
    installs: [] as InstallCall[],
    commands: [] as CommandCall[],
    reports: [] as ReportRequest[],
    closed: 0,
  };
  const exitCode = await start({
    argv: line === '' ? [] : line.split(' '),
    environment,
    print: (text) => (seen.out += text),
    complain: (text) => (seen.errors += text),
    fileExists: (path) => files.includes(path),
    report: (request) => {
      seen.order.push('report');
      seen.reports.push(request);
      const { stage, info } = request;
      const report = { stage, info, sent: Promise.resolve('accepted' as const) };
      const close = () => (seen.closed += 1);
      return Promise.resolve({ report, hasLeft: Promise.resolve(), close });
    },
    loadProgram: () => {
      seen.order.push('load');
      return Promise.resolve({
        runInstall: (call) => {
          seen.installs.push(call);
          return Promise.resolve(0);
        },
        runCommand: (call) => {
          seen.commands.push(call);
          return Promise.resolve(7);
        },
      });
    },
  });
  return { exitCode, ...seen };
}

describe('start', () => {
  it.each(['help', '--help', '-h', 'install --help', '-h=1', '--help=true', '--bogus -h'])(
    'prints help for "%s" and loads nothing',
    async (line) => {
      const { exitCode, out, order } = await run(line);
      expect({ exitCode, order }).toEqual({ exitCode: 0, order: [] });
      expect(out).toContain('bootwright -r ROLE');
    },
  );

  it('prints the version and loads nothing', async () => {
    const { exitCode, out, order } = await run('--version');
    expect({ exitCode, order }).toEqual({ exitCode: 0, order: [] });
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('sends the first report before it loads the program, and hands it over', async () => {
    const { order, installs, reports, closed } = await run(whole);
    expect(order).toEqual(['report', 'load']);
    expect(closed).toBe(1);
    expect(reports[0]?.info).toBe('worker');
    expect(installs[0]?.firstReport).toMatchObject({ stage: 'Starting installation' });
    await expect(installs[0]?.firstReport?.sent).resolves.toBe('accepted');
  });

  it('means the same with and without the word install', async () => {
    const bare = await run(whole);
    const named = await run(`install ${whole}`);
    expect(named.installs[0]?.words).toEqual(bare.installs[0]?.words);
    expect(named.reports).toEqual(bare.reports);
  });

  it.each<[string, string, readonly string[]]>([
    ['a journal of an earlier run', whole, ['/opt/install-dir/journal.jsonl']],
    ['a configuration file', `${whole} --config c.yaml`, []],
    ['the default configuration file', whole, ['/etc/bootwright/config.yaml']],
  ])('leaves the report to the run with %s', async (_, line, files) => {
    const { order, installs } = await run(line, { files });
    expect(order).toEqual(['load']);
    expect(installs[0]).not.toHaveProperty('firstReport');
  });

  it('reports where the certificates are there, or nothing is verified', async () => {
    const line = `${whole} --cacert /ca.pem`;
    expect((await run(line, { files: ['/ca.pem'] })).order).toEqual(['report', 'load']);
    expect((await run(`${line} --insecure`)).order).toEqual(['report', 'load']);
  });

  it('reports at once when the journal is to be set aside', async () => {
    const { order } = await run(`${whole} --fresh`, { files: ['/opt/install-dir/journal.jsonl'] });
    expect(order).toEqual(['report', 'load']);
  });

  it.each([
    ['an unknown flag', `${whole} --bogus`],
    ['an unknown command', 'bogus'],
    ['an unknown role', '-r bogus'],
    ['a URL that is none', '--url bogus'],
    ['arguments that are no JSON', '--installer-args bogus'],
    ['certificates that are not there', `${whole} --cacert /none.pem`],
    ['a proxy that is no URL', `${whole} --http-proxy proxy:3128`],
    ['a stream by a broken URL', `${whole} --image.stream htp://mirror`],
    ['an option that the writer does not have', `${whole} --installer-args ["--apend-karg","x"]`],
    ['a dry run without a marker', `${whole} --dry-run`],
    ['help that is a value', '-r worker --boot-device -h'],
    ['help that is neither asked for nor not', `${whole} --help=x`],
    ['no disk', '-r worker --url http://h --cluster-id c --host-id h'],
    ['nothing at all', ''],
  ])('refuses %s with three lines and exit 2, and touches nothing', async (_, line) => {
    const { exitCode, errors, out, order } = await run(line);
    expect({ exitCode, out, order }).toEqual({ exitCode: 2, out: '', order: [] });
    expect(errors).toMatch(/^failed: (cli|config)\.[a-z-]+: .+\nwhy: .+\nnext: .+\n$/);
  });

  it('refuses a variable that names no setting', async () => {
    const { exitCode, order } = await run(whole, { environment: { BOOTWRIGHT_ROEL: 'worker' } });
    expect({ exitCode, order }).toEqual({ exitCode: 2, order: [] });
  });

  it('hands every other command on and returns its exit code', async () => {
    const { exitCode, commands } = await run('plan -r worker --format dot');
    expect(exitCode).toBe(7);
    expect(commands[0]).toMatchObject({
      command: 'plan',
      words: ['-r', 'worker', '--format', 'dot'],
    });
  });
});
