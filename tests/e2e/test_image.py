# SPDX-License-Identifier: MIT
"""test_image.py - the agent from the static build: in a container's file system that holds it and little else."""
import ctypes
import http.server
import os
import re
import shutil
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

import engines
from test_agent import Agent, free_port, until
from test_agent_service import certificate
from test_attach import Target, need_root
from test_static import settings, static

ALONE = True
TOGETHER = True  # builds of it
SECONDS = 60
NODE = "gpu-7"
LIBC = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
CLONE_NEWNS, PR_CAPBSET_DROP = 0x20000, 24
# of linux/capability.h
CAPABILITIES = {"DAC_READ_SEARCH": 2, "KILL": 5, "SETGID": 6, "SETUID": 7, "SYS_PTRACE": 19, "PERFMON": 38, "BPF": 39,
                "CHECKPOINT_RESTORE": 40}


def need_libraries(case):
    made = subprocess.run(["sh", "packaging/static/libraries.sh"], cwd=case.source, env=settings(case), capture_output=True,
                          text=True)
    if made.returncode == 77:
        case.skip(made.stderr.strip())


def image(case):
    """The files of the image, as the recipe's first stage makes them."""
    recipe = (engines.SOURCE / "packaging/fleet/Containerfile").read_text()
    assert "RUN BUILD=/build ./dev image\n" in recipe and "COPY --from=build /build-image/ /\n" in recipe
    assert re.findall(r"^FROM (\S+)", recipe, re.M) == ["debian:bookworm", "scratch"]
    need_libraries(case)
    done = subprocess.run(["sh", "dev", "image"], cwd=case.source, env=settings(case), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    shutil.copytree(f"{case.build}-image", case.path("root"), symlinks=True)


def manifest(case):
    try:
        import yaml
    except ImportError:
        case.skip("python3-yaml is not installed")
    text = (engines.SOURCE / "packaging/fleet/kubernetes.yaml").read_text()
    return yaml.safe_load(text)["spec"]["template"]["spec"]["containers"][0]


def mount(source, target, flags, kind=None):
    words = [str(word).encode() if word else None for word in (source, target, kind)]
    if LIBC.mount(*words, flags, None):
        raise OSError(ctypes.get_errno(), f"mount {target}")


class Container(Agent):
    """The agent as kubernetes.yaml starts it: its arguments, mounts and capabilities, in the file system `root`."""

    tls = None

    def __init__(self, case, *options, env=None):
        self.case, self.root, self.kept = case, case.path("root"), manifest(case)
        self.socket, self.token = str(case.path("run/agent.sock")), "open sesame"
        self.folders = {"/var/lib/gputrack": case.path("state"), "/run/gputrack": case.path("run"),
                        "/etc/gputrack": case.path("secrets")}
        assert {mount["mountPath"] for mount in self.kept["volumeMounts"]} == set(self.folders)
        for name in ("proc", "sys", "dev", *(path[1:] for path in self.folders)):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        for folder in self.folders.values():
            folder.mkdir(exist_ok=True)
        (case.path("secrets") / "token").write_text(self.token + "\n")
        words = [word.replace("$(POD_IP):9756", f"127.0.0.1:{free_port()}").replace("$(NODE_NAME)", NODE)
                 for word in self.kept["args"]]
        self.process = case.start("/usr/bin/gputrack", *words, "--interval", "0.1", "--rows-interval", "1", *map(str, options),
                                  env=env, bufsize=0, preexec_fn=self.enter)
        self.wait_ready()

    def enter(self):
        """Between fork and exec."""
        assert not LIBC.unshare(CLONE_NEWNS)
        mount(None, "/", MS_REC | MS_PRIVATE)
        mount(self.root, self.root, MS_BIND)
        for name in ("/proc", "/sys", "/dev"):
            mount(name, f"{self.root}{name}", MS_BIND | MS_REC)
        for inside, outside in self.folders.items():
            mount(outside, f"{self.root}{inside}", MS_BIND)
        mount(None, self.root, MS_REMOUNT | MS_BIND | MS_RDONLY)
        os.chroot(self.root)
        os.chdir("/")
        wanted = {CAPABILITIES[name] for name in self.kept["securityContext"]["capabilities"]["add"]}
        for number in range(64):
            if number not in wanted:
                LIBC.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)

    def get(self, path, **headers):
        request = urllib.request.Request(self.address + path, headers={"Authorization": f"Bearer {self.token}", **headers})
        with urllib.request.urlopen(request, timeout=30, context=self.tls) as reply:
            return reply.status, reply.headers["Content-Type"], reply.read()


class Front:
    """HTTPS in front of a ClickHouse, as a load balancer has it."""

    def __init__(self, server, cert, key):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                copied = {name: self.headers[name] for name in ("Content-Encoding", "Content-Type") if self.headers[name]}
                request = urllib.request.Request(server.url + self.path, data=body, headers=copied)
                try:
                    with urllib.request.urlopen(request) as reply:
                        status, text = reply.status, reply.read()
                except urllib.error.HTTPError as error:
                    status, text = error.code, error.read()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *what):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def follow(case, target, agent, server):
    """A process is followed, its line named, and its rows are in the server."""
    target.tell("a 12345")
    until(lambda: "attach_target.c:" in agent.get("/debug/folded/gpu")[2].decode())
    assert [value for labels, value in agent.value("gputrack_process_live_bytes").items()
            if f'pid="{target.pid}"' in labels and 'user="root"' in labels] == [12345]
    until(lambda: server.rows("SELECT DISTINCT host, pid, live_bytes FROM gputrack.rows WHERE place LIKE '%attach_target.c:%'")
          == [[NODE, str(target.pid), "12345"]])


def test_the_image_is_an_agent_with_tls_and_nvml(case):
    """A file system of one program, the C library and certificates, read-only; metrics and rows go by TLS."""
    need_root(case)
    image(case)
    root = case.path("root")
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert len(files) <= 10 and "usr/bin/gputrack" in files, files
    cert, key = certificate(case, "one")
    # NVIDIA's container runtime would put it there
    libraries = next(root.glob("usr/lib/*-linux-gnu"))
    shutil.copy(case.program("libnvidia-ml.so.1"), libraries)
    with (root / "etc/ssl/certs/ca-certificates.crt").open("a") as trusted:
        trusted.write(cert.read_text())
    with engines.ClickHouse(case) as server:
        front = Front(server, cert, key)
        share = {"FAKE_NVML_SHARE": str(case.path("run/share"))}
        case.path("run").mkdir()
        case.path("secrets").mkdir()
        for path in (cert, key):
            shutil.copy(path, case.path("secrets"))
        case.path("secrets/agent.conf").write_text(
            f"clickhouse = {front.url}/gputrack\nkeep = 16M\ntls-cert = /etc/gputrack/{cert.name}\n"
            f"tls-key = /etc/gputrack/{key.name}\n")
        target = Target(case, before=("env", *(f"{name}={value}" for name, value in share.items())))
        agent = Container(case, "-p", target.pid, env={"FAKE_NVML_SHARE": "/run/gputrack/share"})
        agent.tls = ssl.create_default_context(cafile=cert)
        assert agent.address.startswith("https://"), agent.head
        follow(case, target, agent, server)
        assert list(agent.value("gputrack_gpu_capacity_bytes").values()) == [16 << 30], agent.metrics()
        target.end()
        assert agent.stop() == 0, agent.err
    assert case.gputrack("report", next(case.path("state/ring").iterdir())).status == 0


def test_the_static_program_alone_is_an_agent(case):
    """Of all files in its file system it needs itself."""
    need_root(case)
    need_libraries(case)
    tool = static(case)
    case.path("root/usr/bin").mkdir(parents=True)
    case.path("root/etc").mkdir()
    shutil.copy(tool, case.path("root/usr/bin/gputrack"))
    case.path("root/etc/passwd").write_text("root:x:0:0::/:/\n")
    # container runtimes provide it
    case.path("root/etc/hosts").write_text("127.0.0.1 clickhouse.example\n")
    with engines.ClickHouse(case) as server:
        target = Target(case)
        case.path("secrets").mkdir()
        case.path("secrets/agent.conf").write_text(f"clickhouse = http://clickhouse.example:{server.port}/gputrack\n")
        agent = Container(case, "-p", target.pid)
        follow(case, target, agent, server)
        target.end()
        assert agent.stop() == 0, agent.err
