# SPDX-License-Identifier: MIT
"""test_agent_service.py - the agent as a service: its unit, its rules, who may ask it, and a new configuration."""
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request

from test_agent import FLEET, Agent, Systemd, free_port, until
from test_attach import Target, need_root
from test_attach_family import make_cgroup

ALONE = True
HERE = pathlib.Path(__file__).resolve().parent


def test_each_alert_fires_when_it_should_and_not_before(case):
    if not shutil.which("promtool"):
        case.skip("Debian's prometheus is not installed")
    done = case.run("promtool", "test", "rules", HERE / "alerts.test.yml")
    assert done.status == 0 and "SUCCESS" in done.out, done.out + done.err
    rules, tests = (path.read_text() for path in (FLEET / "prometheus-alerts.yml", HERE / "alerts.test.yml"))
    for alert in re.findall(r"- alert: (\w+)", rules):
        assert re.search(rf"\balertname: {alert}\n[^-]*exp_alerts", tests), alert


def unit_with(case):
    """The unit, for the program that was built."""
    text = (FLEET / "gputrack-agent.service").read_text()
    case.path("gputrack-agent.service").write_text(text.replace("/usr/bin/gputrack", str(case.build / "gputrack")))
    return case.path("gputrack-agent.service")


def test_systemd_accepts_the_unit_and_finds_little_exposed(case):
    if not shutil.which("systemd-analyze"):
        case.skip("systemd is not installed")
    unit = unit_with(case)
    done = case.run("systemd-analyze", "verify", "--man=no", unit)
    assert done.status == 0 and done.err == "", done.err
    done = case.run("systemd-analyze", "security", "--offline=yes", "--no-pager", unit)
    exposed = float(re.search(r"Overall exposure level\D*([\d.]+)", done.out).group(1))
    assert exposed <= 4, done.out


def allowed_calls(case, names):
    """The system calls of a SystemCallFilter."""
    for name in names:
        if name.startswith("@"):
            text = case.run("systemd-analyze", "syscall-filter", "--no-pager", name).out
            lines = [line.strip() for line in text.splitlines()[1:]]
            yield from allowed_calls(case, [line for line in lines if line and not line.startswith("#")])
        else:
            yield name


def test_the_unit_allows_the_calls_that_the_agent_makes(case):
    """What it does in its life, under strace: no call is outside of the unit's filter."""
    need_root(case)
    if not shutil.which("systemd-analyze") or not shutil.which("strace"):
        case.skip("systemd or strace is not installed")
    unit = (FLEET / "gputrack-agent.service").read_text()
    allowed = set(allowed_calls(case, re.search(r"^SystemCallFilter=(.*)$", unit, re.M).group(1).split() + ["@default"]))
    target, state = Target(case), case.path("state")
    agent = Agent(case, "-p", target.pid, "--keep", "16M", "--state", state, "--clickhouse", "http://127.0.0.1:1",
                  "--rows-interval", "1", before=["strace", "-f", "-qq", "-o", "calls", "-e", "signal=none"])
    target.tell("a 12345")
    target.tell("k 100")
    until(lambda: "attach_target.c:" in agent.get("/debug/folded/gpu")[2].decode())
    assert agent.get("/debug/pprof/gpu")[0] == 200
    for words in (("dump", target.pid, "-o", "a.gt"), ("trace", target.pid, "--for", "0.1s", "-o", "b.gt")):
        assert agent.ask("--state", state, *words).status == 0
    pid = int(pathlib.Path(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children").read_text().split()[0])
    until(lambda: "cannot reach" in agent.ask("status").out)
    os.kill(pid, signal.SIGUSR2)
    agent.wait_ready()
    target.tell("a 777")
    until(lambda: sum(agent.value("gputrack_gpu_live_bytes").values()) == 12345 + 777)
    os.kill(pid, signal.SIGTERM)
    agent.process.communicate(timeout=60)
    target.end()
    text = case.path("calls").read_text(errors="replace")
    made = set(re.findall(r"^\d+ +(\w+)\(", text, re.M)) | set(re.findall(r"^\d+ +<\.\.\. (\w+) resumed", text, re.M))
    # below zero: no call, but what strace once read of a thread that it was only about to follow
    made = {name for name in made if not re.fullmatch(r"syscall_0xf{8}[0-9a-f]{8}", name)}
    assert {"bpf", "perf_event_open", "capset", "execve"} <= made and not made - allowed, made - allowed


def certificate(case, name):
    """(certificate, key)"""
    cert, key = case.path(f"{name}.pem"), case.path(f"{name}.key")
    done = case.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "1",
                    "-subj", "/CN=gpu-7", "-addext", "subjectAltName=IP:127.0.0.1")
    if done.status:
        case.skip("openssl cannot make a certificate here")
    return cert, key


def get_by_tls(agent, cert, token=None):
    """The status; None: the certificate is another one."""
    request = urllib.request.Request(agent.address + "/metrics")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=30, context=ssl.create_default_context(cafile=cert)) as reply:
            assert reply.read().startswith(b"# HELP gputrack_")
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code
    except urllib.error.URLError as error:
        assert isinstance(error.reason, ssl.SSLError), error
        return None


def test_others_need_the_token_and_see_the_certificate_that_is_there_now(case):
    """TLS, a token, and both renewed by a reload."""
    need_root(case)
    old, renewed = certificate(case, "old"), certificate(case, "renewed")
    for path, source in zip(("cert.pem", "cert.key"), old):
        shutil.copy(source, case.path(path))
    case.path("token").write_text("open sesame\n")
    case.path("agent.conf").write_text(f"token-file = {case.path('token')}\ntls-cert = {case.path('cert.pem')}\n"
                                       f"tls-key = {case.path('cert.key')}\n")
    target, systemd = Target(case), Systemd(case)
    number = free_port()
    agent = Agent(case, "-p", target.pid, "--config", case.path("agent.conf"), listen=f"127.0.0.1:{number}",
                  before=systemd.before)
    assert agent.address == f"https://127.0.0.1:{number}", agent.head
    assert [get_by_tls(agent, old[0], token) for token in (None, "sesame", "open sesame")] == [401, 401, 200]
    assert get_by_tls(agent, renewed[0], "open sesame") is None
    plain = http.client.HTTPConnection("127.0.0.1", number, timeout=30)
    try:
        plain.request("GET", "/metrics", headers={"Authorization": "Bearer open sesame"})
        assert plain.getresponse().status >= 400
    except (http.client.HTTPException, ConnectionError):
        pass
    # renewed, as by certbot; another setting has changed that cannot change while it runs
    for path, source in zip(("cert.pem", "cert.key"), renewed):
        shutil.copy(source, case.path(path))
    case.path("token").write_text("another\n")
    with case.path("agent.conf").open("a") as config:
        config.write("growth-step = 30\n")
    agent.process.send_signal(signal.SIGHUP)
    assert "growth-step: a change of this needs a restart" in agent.wait_line("a change of this")
    agent.wait_line("metrics at")
    assert [get_by_tls(agent, renewed[0], token) for token in ("open sesame", "another")] == [401, 200]
    assert get_by_tls(agent, old[0], "another") is None
    # a file that is not there leaves it as it is
    case.path("token").unlink()
    agent.process.send_signal(signal.SIGHUP)
    assert "cannot read the token" in agent.wait_line("the old one stays")
    assert get_by_tls(agent, renewed[0], "another") == 200
    target.end()
    assert agent.stop() == 0


def test_a_socket_is_for_its_owner_and_addresses_of_others_need_a_token(case):
    need_root(case)
    target = Target(case)
    agent = Agent(case, "-p", target.pid, listen=str(case.path("metrics.sock")))
    assert "metrics at the socket" in agent.head
    mode = case.path("metrics.sock").stat()
    assert (mode.st_mode & 0o777, mode.st_uid) == (0o600, 0), oct(mode.st_mode)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(case.path("metrics.sock")))
        s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert s.makefile("rb").readline().startswith(b"HTTP/1.1 200"), "no answer"
    # neither the agent nor its server has a socket of the network
    inodes = {os.readlink(path) for pid in (agent.process.pid, *agent.servers())
              for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            assert f"socket:[{line.split()[9]}]" not in inodes, line
    target.end()
    assert agent.stop() == 0
    assert not case.path("metrics.sock").exists()
    for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:9756"):
        done = case.gputrack("agent", "--socket", case.path("other.sock"), "--listen", address)
        assert done.status == 1 and "can be reached from other machines: it needs --token-file" in done.err, done.err


def test_an_agent_that_starts_says_nothing_about_its_host_at_once(case):
    """It does not know yet what runs: a row that says "nothing" would end all that the one before it knew."""
    need_root(case)
    target = Target(case)
    agent = Agent(case, "-p", target.pid, "--rows", case.path("rows"), "--host", "gpu-7")
    for _ in range(3):  # it has been round its loop
        assert agent.ask("status").status == 0
    assert not list(case.path("rows").glob("rows-*"))
    target.tell("a 12345")
    until(lambda: agent.value("gputrack_allocations_total") == 1)
    assert agent.stop() == 0
    rows = [line.split("\t") for path in case.path("rows").glob("rows-*") for line in path.read_text().splitlines()[1:]]
    assert [(row[1], row[4], row[16]) for row in rows] == [("gpu-7", str(target.pid), "12345")], rows
    target.end()


def test_a_pod_is_known_by_its_cgroup_and_its_host_name(case):
    """In metrics and rows, as Kubernetes makes them, and without anybody to ask."""
    need_root(case)
    pod, ident = "6f1c2a3b-4d5e-6f70-8192-a3b4c5d6e7f8", "0123456789abcdef" * 4
    target = Target(case, before=("unshare", "--uts", "sh", "-c", 'hostname trainer-0; exec "$0" "$@"'))
    folder = make_cgroup(case, f"kubepods-burstable-pod{pod.replace('-', '_')}.slice/cri-containerd-{ident}.scope")
    scope = folder / f"kubepods-burstable-pod{pod.replace('-', '_')}.slice/cri-containerd-{ident}.scope"
    try:
        (scope / "cgroup.procs").write_text(str(target.pid))
        agent = Agent(case, "-p", target.pid, "--rows", case.path("rows"))
        target.tell("a 12345")
        until(lambda: agent.value("gputrack_allocations_total") == 1)
        labels, = agent.value("gputrack_process_live_bytes")
        assert f'container="{ident[:12]}"' in labels and 'pod="trainer-0"' in labels, labels
        assert agent.stop() == 0
    finally:
        target.end()
        for path in (scope, scope.parent, folder):
            path.rmdir()
    rows = [line.split("\t") for path in case.path("rows").glob("rows-*") for line in path.read_text().splitlines()[1:]]
    assert [(row[2], row[3], row[4]) for row in rows] == [("trainer-0", ident, str(target.pid))], rows


def test_the_journal_gets_the_level_of_each_line(case):
    """systemd names its stream in a variable; elsewhere lines have no level."""
    need_root(case)
    target = Target(case)
    journal = "sh", "-c", 'JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2) exec "$0" "$@"'
    agent = Agent(case, "-p", target.pid, before=journal)
    assert re.search(r"^<6>gputrack: following", agent.head, re.M), agent.head
    assert agent.stop() == 0
    agent = Agent(case, "-p", target.pid)
    assert re.search(r"^gputrack: following", agent.head, re.M) and "<" not in agent.head, agent.head
    target.end()
    assert agent.stop() == 0
