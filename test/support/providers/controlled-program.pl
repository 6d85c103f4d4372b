# As controlled-program.mjs, line for line, for the hundreds of agents of a run: Perl starts in an eighth of the time of Node.
use strict;
use warnings;
use Cwd ();
use Socket;

my $outlives = 0;
my %buffer   = (stdin => '', orders => '');
my %escape  = ("\b" => 'b', "\f" => 'f', "\n" => 'n', "\r" => 'r', "\t" => 't', '"' => '"', '\\' => '\\', '/' => '/');
my %escaped = reverse %escape;
$SIG{PIPE} = 'IGNORE';

socket(my $socket, AF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
connect($socket, pack_sockaddr_un($ENV{CONTROL_SOCKET})) or exit 0;
tell_test(pid => $$, cwd => quoted(Cwd::getcwd()));

my %open = (stdin => \*STDIN, orders => $socket);
while (1) {
    my $wanted = '';
    vec($wanted, fileno($_), 1) = 1 for values %open;
    next if select(my $ready = $wanted, undef, undef, undef) < 1;
    for my $name (grep { vec($ready, fileno($open{$_}), 1) } keys %open) {
        my $from  = length $buffer{$name};
        my $count = sysread($open{$name}, $buffer{$name}, 1048576, $from);
        if ($count) {
            # What was there before has no end of a line: a line may have megabytes.
            while ((my $end = index($buffer{$name}, "\n", $from)) >= 0) {
                $from = 0;
                my $line = substr($buffer{$name}, 0, $end + 1, '');
                chop $line;
                $name eq 'stdin' ? tell_test(line => quoted($line)) : obey($line);
            }
        }
        elsif (defined $count || !$!{EINTR}) {
            delete $open{$name};
            tell_test(eof => 'true') if $name eq 'stdin';
            # The test is over, or there is nobody to listen to. One that was made to outlive everything waits to be killed.
            exit 0 unless $outlives;
        }
    }
}

sub tell_test {
    my %message = @_;
    put($socket, '{' . join(',', map { "\"$_\":$message{$_}" } sort keys %message) . "}\n");
}

# An order is an object with one key, whose value is a string, a number or true.
sub obey {
    my ($what, $value) = $_[0] =~ /^\{"(\w+)":(.*)\}$/ or die "not an order: $_[0]";
    if    ($what eq 'write')  { put(\*STDOUT, text($value)) }
    elsif ($what eq 'fill')   { put(\*STDOUT, 'x' x $value) }
    elsif ($what eq 'stderr') { put(\*STDERR, text($value)) }
    elsif ($what eq 'hangUp') { close STDOUT }
    elsif ($what eq 'exit')   { exit $value }
    elsif ($what eq 'outlive') { outlive_all() }
    else                       { die "not an order: $_[0]" }
}

# From here on only a SIGKILL ends it and the child it has.
sub outlive_all {
    $outlives = 1;
    my $child = fork // die "fork: $!";
    if ($child == 0) {
        open STDIN,  '<', '/dev/null';
        open STDOUT, '>', '/dev/null';
        open STDERR, '>', '/dev/null';
        exec 'sh', '-c', 'trap "" TERM; while :; do sleep 1; done';
    }
    $SIG{TERM} = sub { tell_test(signal => '"SIGTERM"') };
    $SIG{CHLD} = 'IGNORE';
    tell_test(child => $child);
}

sub put {
    my ($to, $bytes) = @_;
    my $done = 0;
    while ($done < length $bytes) {
        my $count = syswrite($to, $bytes, length($bytes) - $done, $done);
        return unless defined $count || $!{EINTR};
        $done += $count // 0;
    }
}

# A text as a JSON string, and back: what comes is UTF-8, and so is what goes.
sub quoted {
    my ($text) = @_;
    $text =~ s/(["\\\x00-\x1f])/exists $escape{$1} ? "\\$escape{$1}" : sprintf '\\u%04x', ord $1/ge;
    return "\"$text\"";
}

sub text {
    my ($json) = @_;
    $json = substr($json, 1, -1);
    $json =~ s/\\(?:u([0-9a-f]{4})|(.))/defined $1 ? utf8_of(hex $1) : $escaped{$2}/ge;
    return $json;
}

# JSON.stringify escapes control characters, and halves of surrogate pairs, which stand for nothing.
sub utf8_of {
    my ($code) = @_;
    return $code < 0x80 ? chr $code : "\xef\xbf\xbd";
}
