import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../config/schema.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { ran, writeFacts, writer, writingHost } from '../../../test/support/written-disk.ts';
import { describeRole } from '../../engine/describe.ts';
import { Config } from '../../config/schema.ts';
import type { ChosenImage } from './facts.ts';
import { write } from './write.ts';

describe('image/write', () => {
  it('runs the writer with nothing but the Ignition and the disk for the live image', async () => {
    const host = writingHost().on(writer.argv()).prints('', writer.done);
    const { value, progress } = await runStep(write, { host, facts: writeFacts() });
    expect(ran(host)).toEqual([writer.argv()]);
    expect(writer.callOn(host)?.env).toEqual({ RUST_BACKTRACE: '0' });
    expect(value).toEqual({ disk: '/dev/sda' });
    expect(progress.map(({ info, percent }) => [info, percent])).toEqual([
      ['3%', 3],
      ['7%', 7],
      ['12%', 12],
      ['100%', 100],
    ]);
  });

  it('passes further arguments and proxies on', async () => {
    const args = ['--append-karg', 'ip=eth0:dhcp'];
    const host = writingHost()
      .on(writer.argv(...args))
      .succeeds();
    const config: ConfigInput = {
      image: { writerArgs: args },
      proxy: { https: 'http://p.example:3128' },
    };
    await runStep(write, { config, host, facts: writeFacts() });
    expect(writer.callOn(host)?.env).toMatchObject({ https_proxy: 'http://p.example:3128' });
  });

  it('verifies a file again right before it is written', async () => {
    const sha256 = 'a'.repeat(64);
    const host = writingHost()
      .on(['sha256sum', '--', '/a.raw'])
      .inTurn(`${sha256}  /a.raw`, `${'b'.repeat(64)}  /a.raw`)
      .on(writer.argv('--image-file', '/a.raw'))
      .prints('', writer.done);
    const image: ChosenImage = { kind: 'file', path: '/a.raw', sha256, because: '' };
    expect((await runStep(write, { host, facts: writeFacts(image) })).value.sha256).toBe(sha256);
    const { failure } = await tryStep(write, { host, facts: writeFacts(image) });
    expect(failure).toMatchObject({ code: 'image.wrong-digest' });
    expect(host.ran.filter(([program]) => program === 'coreos-installer')).toHaveLength(1);
  });

  it('warns when another disk holds an old system', async () => {
    const note = `${writer.done}\nNote: detected other devices with a filesystem labeled \`boot\`:\n  - /dev/sdb3\nThe installed OS may not work correctly\n`;
    const host = writingHost().on(writer.argv()).prints('', note);
    const { events } = await runStep(write, { host, facts: writeFacts() });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'note',
        fields: expect.objectContaining({ devices: '/dev/sdb3' }) as object,
      }),
    );
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(write, () => ({
      host: writingHost().on(writer.argv()).prints('', writer.done),
      facts: writeFacts(),
    }));
    expect.hasAssertions();
  });

  it.each<[ConfigInput['image'], string[]]>([
    [{}, []],
    [{ file: '/a.raw' }, ['--image-file', '/a.raw']],
    [{ stream: '/s.json' }, ['--image-url', 'http://127.0.0.1:<port>/<image>']],
  ])('is planned with the command that it runs: %j', (image, words) => {
    const plan = describeRole(
      { name: 'r', title: '', ladder: 'master', steps: [write] },
      Config.parse({ image }),
    );
    expect(plan.items[0]).toMatchObject({
      step: {
        commands: [
          [...writer.argv().slice(0, 4), '<ignition.host.path>', ...words, '<disk.target.path>'],
        ],
      },
    });
  });
});
