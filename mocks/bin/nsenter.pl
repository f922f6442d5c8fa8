#!/usr/bin/perl
# Stand-in for nsenter: carries one command to a simulated host and its output back.
# Frames both ways: one letter, four bytes of length (big endian), the payload.
use strict;

my $path = '@SOCKET@';
# By number: the tables of names would take three times as long as everything else.
my $EINTR = 4;
my ($AF_UNIX, $SOCK_STREAM) = (1, 1);

sub escaped {
    my ($text) = @_;
    $text =~ s/([^A-Za-z0-9_.,:\/=@ +-])/sprintf '%%%02X', ord $1/ge;
    return $text;
}

sub frame {
    my ($letter, $payload) = @_;
    my $bytes = $letter . pack('N', length $payload) . $payload;
    while (length $bytes) {
        my $sent = syswrite SERVER, $bytes;
        if (!defined $sent) { next if $! == $EINTR; exit 1; }
        substr $bytes, 0, $sent, '';
    }
}

sub whole_write {
    my ($handle, $bytes) = @_;
    while (length $bytes) {
        my $sent = syswrite $handle, $bytes;
        if (!defined $sent) { next if $! == $EINTR; return; }
        substr $bytes, 0, $sent, '';
    }
}

sub address {
    return pack 'S Z*', $AF_UNIX, $path if $^O eq 'linux';
    require Socket;
    return Socket::sockaddr_un($path);
}

socket(SERVER, $AF_UNIX, $SOCK_STREAM, 0) && connect(SERVER, address())
    or do { print STDERR "nsenter: cannot reach the host: $!\n"; exit 1 };

my %signals = (HUP => 1, INT => 2, TERM => 15);
for my $name (keys %signals) {
    $SIG{$name} = sub { frame('S', $signals{$name}) };
}

# Line feeds part the words; they and all that is unusual are percent-escaped.
frame('A', join "\n", map { escaped($_) } @ARGV);
frame('V', join "\n", map { escaped("$_=$ENV{$_}") } sort keys %ENV);

my ($buffer, $stdin_open) = ('', 1);
while (1) {
    my $wanted = '';
    vec($wanted, fileno(SERVER), 1) = 1;
    vec($wanted, fileno(STDIN), 1) = 1 if $stdin_open;
    my $ready = select my $seen = $wanted, undef, undef, undef;
    next if $ready < 0;
    if ($stdin_open && vec($seen, fileno(STDIN), 1)) {
        my $read = sysread STDIN, my $bytes, 65536;
        if ($read) { frame('I', $bytes) } else { $stdin_open = 0; frame('E', '') }
    }
    next unless vec($seen, fileno(SERVER), 1);
    my $read = sysread SERVER, $buffer, 65536, length $buffer;
    if (!defined $read) { next if $! == $EINTR; exit 1 }
    if (!$read) { print STDERR "nsenter: the host has gone\n"; exit 1 }
    while (length $buffer >= 5) {
        my ($letter, $length) = unpack 'aN', $buffer;
        last if length $buffer < 5 + $length;
        my $payload = substr $buffer, 5, $length;
        substr $buffer, 0, 5 + $length, '';
        if ($letter eq 'O') { whole_write(\*STDOUT, $payload) }
        elsif ($letter eq 'R') { whole_write(\*STDERR, $payload) }
        elsif ($letter eq 'X') { exit $payload }
        elsif ($letter eq 'K') { my ($name) = grep { $signals{$_} == $payload } keys %signals;
            $SIG{$name} = 'DEFAULT'; kill $name, $$; exit 128 + $payload }
    }
}
