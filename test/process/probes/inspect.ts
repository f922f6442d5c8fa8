// Prints the environment of a command on the host, and how the adapter reports its end.
import { nsenterHost } from '../../../src/adapters/host/nsenter-host.ts';
import { AgentError } from '../../../src/model/failure.ts';

const how = { signal: new AbortController().signal, limit: 600_000 };
const host = nsenterHost();
const codeOf = async (argv: readonly string[]): Promise<string> => {
  try {
    await host.exec(argv, how);
    return 'ended well';
  } catch (error) {
    return error instanceof AgentError ? error.code : String(error);
  }
};
process.stdout.write(
  JSON.stringify({
    environment: (await host.exec(['env'], how)).stdout.split('\n').sort(),
    stdin: (await host.exec(['cat'], how)).stdout,
    missing: await codeOf(['no-such-program', '--flag']),
    answers127: await codeOf(['sh', '-c', 'exit 127']),
    killed: await codeOf(['sh', '-c', 'kill -KILL $$']),
    etcRoundTrip: await roundTrip('/var/tmp/bootwright-probe'),
  }),
);

async function roundTrip(path: string): Promise<string | undefined> {
  await host.writeFile(path, 'seen by commands alone\n', { signal: how.signal });
  const text = await host.readText(path, how.signal);
  await host.remove(path, how.signal);
  return text;
}
