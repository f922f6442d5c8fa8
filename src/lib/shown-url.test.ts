import { expect, it } from 'vitest';
import { hiddenInWords, shownText, shownUrl, shownUrlsIn } from './shown-url.ts';

const signed = 'https://user:s3cretpw@mirror.example:8443/a/metal.raw.gz?sig=abc#x';

it.each([
  [signed, 'https://mirror.example:8443/a/metal.raw.gz'],
  ['http://a.example', 'http://a.example'],
  ['http://a.example/?x=1', 'http://a.example'],
  ['http://[fd00::1]:80/b', 'http://[fd00::1]/b'],
  ['/opt/stream.json', '/opt/stream.json'],
  ['', ''],
])('shownUrl shows %j as %j', (address, shown) => {
  expect(shownUrl(address)).toBe(shown);
});

it.each([
  [`--image-url=${signed}`, '--image-url=https://mirror.example:8443/a/metal.raw.gz'],
  [`fetching '${signed}': 403`, "fetching 'https://mirror.example:8443/a/metal.raw.gz': 403"],
  ['http://[broken?sig=abc', 'http://[broken'],
  ['http://u:pa/ss?w@proxy.example:3128/', 'http://proxy.example:3128/'],
  [`fetching 'http://u:p'w"d@h.example/a': 403`, "fetching 'http://h.example/a': 403"],
  ['--image-url=http:///u:pw@h.example/a', '--image-url=http://h.example/a'],
  ['no address', 'no address'],
  ...[',', ';', ')', '.', ':', ').'].flatMap((end) => [
    [`(http://h/a?sig=abc${end} next`, `(http://h/a${end} next`],
    [`see http://h/a?sig=abc${end}`, `see http://h/a${end}`],
    [`see http://h/a${end}`, `see http://h/a${end}`],
  ]),
])('strips secrets from the URLs in %j', (text, shown) => {
  expect(shownUrlsIn(text)).toBe(shown);
});

const kernelArguments = [
  'rd.iscsi.password=s3cret1',
  'netroot=iscsi:u:s3cret2:iu:s3cret3@192.0.2.1::3260::iqn.2026-01.example:disk',
  '--append-karg=my_token=s3cret4',
  'ip=eth0:dhcp',
  '--env=PULL_SECRET_TOKEN',
];

it.each([
  [signed, 'https://***@mirror.example:8443/a/metal.raw.gz?***'],
  [
    'proxy.http = http://u:pa/ss?w@proxy.example:3128',
    'proxy.http = http://***@proxy.example:3128',
  ],
  ['["http://u:pw@h/a","b"]', '["http://***@h/a","b"]'],
  ['ftp://u:pw@h', 'ftp://***@h'],
  ['u:pw@proxy.example:3128', '***@proxy.example:3128'],
  ['http://u:p@ss#w@proxy.example:3128', 'http://***@proxy.example:3128'],
  ['http://u:1?w@proxy.example:3128', 'http://***@proxy.example:3128'],
  ['u:p@ss@proxy.example:3128', '***@proxy.example:3128'],
  ['http://u:pw@h/os@sha256:0', 'http://***@h/os@sha256:0'],
  ['http://h/a@b is kept', 'http://h/a@b is kept'],
  ['docker://registry.example/os@sha256:0', 'docker://registry.example/os@sha256:0'],
  ['http://[?sig=abc', 'http://[?***'],
  ['http://h/a#sig=abc', 'http://h/a#***'],
  [`proxy.http = http://u:p'w"<d>@h.example:3128`, 'proxy.http = http://***@h.example:3128'],
  ['http:///u:pw@h/a', 'http://***@h/a'],
  ['url http://h/a?sig=a.b,c, fault X', 'url http://h/a?***, fault X'],
  ...[',', ';', ')', '.', ':', ').'].map((end) => [
    `(http://u:pw@h/a?sig=abc${end}`,
    `(http://***@h/a?***${end}`,
  ]),
  [
    kernelArguments.join(' '),
    'rd.iscsi.password=*** ***@192.0.2.1::3260::iqn.2026-01.example:disk --append-karg=my_token=*** ip=eth0:dhcp --env=PULL_SECRET_TOKEN',
  ],
])('masks the secrets in %j', (text, shown) => {
  expect(shownText(text)).toBe(shown);
});

it.each([
  ['ip=dhcp rd.iscsi.password=s3cret', ['s3cret']],
  ['console=ttyS0\nrd.iscsi.password=s3cret quiet', ['s3cret']],
  ['--firstboot-args=rd.iscsi.password=s3cret', ['s3cret']],
  ['--firstboot-args=ip=dhcp my_token=s3cret', ['s3cret']],
  ['--append-karg="rd.iscsi.password=s3cret"', ['s3cret']],
  ['quiet inst.rootpw="s3cret with blanks" ro', ['s3cret with blanks']],
  ['ip=dhcp netroot=iscsi:u:s3cret@192.0.2.1::3260::iqn:disk ro', ['u:s3cret']],
  ['root=iscsi:u:s3cret@192.0.2.1::3260::iqn:disk ro', ['u:s3cret']],
  ['root=cifs://192.0.2.1/a cifsuser=u cifspass=s3cret', ['s3cret']],
  ['rootpw="" --token-file=/a/b password', []],
])('finds in the kernel arguments %j the secrets %j', (line, hidden) => {
  expect(hiddenInWords([line])).toEqual(hidden);
});

it.each([
  [`http://u:s3'cret@h`, [`u:s3'cret`, `s3'cret`]],
  ['http:///u:s3cret@h', ['u:s3cret', 's3cret']],
  ['http://u:s3%40cret@h', ['u:s3%40cret', 's3%40cret', 's3@cret']],
])('finds in %s the secrets %j', (address, hidden) => {
  expect(hiddenInWords([address])).toEqual(hidden);
});

it.each([
  [
    'systemd.set_credential=passwd.hashed-password.root:$6$salt$hidden',
    'systemd.set_credential=***',
  ],
  ['--firstboot-args=rd.iscsi.password=hidden', '--firstboot-args=rd.iscsi.password=***'],
  ['a systemd.set_credential_binary=x:aGlkZGVu b', 'a systemd.set_credential_binary=*** b'],
  ['rootpw=hidden quiet', 'rootpw=*** quiet'],
  ['cifspass=hidden quiet', 'cifspass=*** quiet'],
  ['rd.iscsi.password=password ro', 'rd.iscsi.password=*** ro'],
  ['inst.rootpw="hidden with blanks" quiet', 'inst.rootpw=*** quiet'],
])('masks the password in the kernel command line %s', (line, shown) => {
  expect(shownText(line)).toBe(shown);
});
