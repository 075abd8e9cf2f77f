"""Which calls of which language matter, by what they do. Data only; code.py gives it meaning.

A name that begins with a dot may be called on anything (``subprocess.run``, ``sp.run``); one that does not stands as
it is written, so that ``os.remove`` is a file and ``items.remove`` is not.

Kinds: ``process`` runs a command, ``exec-list`` the exec family, ``spawn`` command and list, ``eval`` runs code, ``rm``
(recursive by a named argument), ``rm-list``, ``rm-r``, ``rmdir``, ``write`` (by mode), ``put``, ``mv``, ``cp``, ``ln``,
``chmod``, ``chown``, ``kill``, ``sql``, ``send``, ``method-rm``, ``method-write``, ``empty``, ``exec-mode`` (mode, file, words),
``run-net`` (fetches and runs).
"""

import re

CALLS: dict[str, dict[str, str]] = {
    "python": {
        "process": ".system .popen .getoutput .getstatusoutput .run .call .check_call .check_output .Popen pty.spawn .spawn "
        ".create_subprocess_shell .create_subprocess_exec .exec_command .run_command .sudo",
        "exec-list": ".execl .execle .execlp .execlpe .execv .execve .execvp .execvpe .posix_spawn .posix_spawnp",
        "exec-mode": ".spawnv .spawnve .spawnl .spawnle .spawnlp .spawnlpe .spawnvp .spawnvpe",
        "eval": "exec eval compile runcode runsource timeit.timeit timeit.repeat cProfile.run profile.run",
        "rm-r": ".rmtree .remove_tree .removedirs send2trash",
        "rm": "os.remove os.unlink",
        "rmdir": "os.rmdir",
        "write": "open io.open",
        "mv": "os.rename os.replace shutil.move",
        "cp": ".copyfile .copytree shutil.copy shutil.copy2",
        "ln": "os.symlink os.link",
        "chmod": "os.chmod os.lchmod",
        "chown": "os.chown shutil.chown",
        "kill": "os.kill os.killpg",
        "empty": "os.truncate",
        "sql": ".execute .executescript .executemany .raw",
        "send": "requests.post requests.put requests.delete requests.patch requests.get httpx.post httpx.put httpx.delete "
        "urlopen .urlopen urllib.request.Request session.post .request session.delete .sendall .sendmail .send_message .storbinary .storlines .upload_file .upload_fileobj",
        "method-rm": ".unlink .rmdir",
        "method-write": ".write_text .write_bytes",
    },
    "javascript": {
        "process": ".exec .execSync execa.command execa.commandSync execaCommand execaCommandSync",
        "spawn": ".spawn .spawnSync .execFile .execFileSync fork Deno.run Deno.Command Bun.spawn Bun.spawnSync execa execaSync",
        "eval": "eval Function .runInNewContext .runInThisContext .runInContext",
        "rm": ".rm .rmSync rmdir .rmdirSync Deno.remove Deno.removeSync",
        "rm-r": ".rimraf .rimrafSync rimraf.sync .removeSync .emptyDirSync del.sync emptyDir fs.remove fse.remove",
        "rm-list": ".unlink .unlinkSync",
        "put": ".writeFile .writeFileSync .appendFile .appendFileSync .createWriteStream Deno.writeTextFile Deno.writeTextFileSync Bun.write",
        "mv": ".renameSync rename",
        "cp": ".copyFileSync .cpSync",
        "chmod": ".chmodSync chmod",
        "kill": "process.kill",
        "empty": ".truncateSync truncate",
        "sql": ".query .$executeRaw .$executeRawUnsafe",
        "send": "axios.post axios.put axios.delete fetch",
    },
    "ruby": {
        "process": ".system Process.run exec Kernel.exec .spawn .popen .popen3 .popen2 .popen2e .capture2 .capture2e .capture3 .pipeline sh",
        "eval": "eval .instance_eval .class_eval load",
        "send": "Net::HTTP.post Net::HTTP.post_form HTTParty.post RestClient.post Faraday.post",
        "rm-r": ".rm_rf .rm_r .rmtree .remove_dir .remove_entry .remove_entry_secure FileUtils.rm_rf",
        "rm-list": "FileUtils.rm FileUtils.rm_f File.delete File.unlink FileUtils.remove File.safe_unlink",
        "rmdir": "Dir.rmdir Dir.delete Dir.unlink FileUtils.rmdir",
        "write": "File.open File.new",
        "put": "File.write File.binwrite IO.write File.truncate",
        "mv": "FileUtils.mv File.rename FileUtils.move",
        "cp": "FileUtils.cp FileUtils.cp_r FileUtils.install",
        "chmod": "FileUtils.chmod FileUtils.chmod_R File.chmod",
        "kill": "Process.kill",
        "sql": ".execute .exec_query",
    },
    "perl": {
        "process": ".system .exec open shell run",
        "eval": "eval do",
        "rm-r": ".rmtree .remove_tree File::Path::rmtree File::Path::remove_tree pathrmdir",
        "rm-list": ".unlink",
        "rmdir": "rmdir",
        "write": "sysopen",
        "mv": "rename move",
        "cp": "copy",
        "chmod": "chmod",
        "kill": "kill",
        "empty": "truncate",
        "put": ".spew write_file",
        "ln": "symlink",
        "sql": ".do .prepare",
    },
    "php": {
        "process": ".system .exec shell_exec passthru .popen proc_open pcntl_exec",
        "eval": "eval assert create_function include require include_once require_once",
        "rm-list": ".unlink",
        "rmdir": "rmdir",
        "write": "fopen",
        "put": "file_put_contents ftruncate",
        "mv": "rename",
        "cp": "copy",
        "chmod": "chmod",
        "send": "file_get_contents curl_init",
        "sql": "DB::statement DB::unprepared DB::delete .query exec_sql mysqli_query pg_query",
    },
    "lua": {
        "process": "os.execute io.popen vim.fn.system uv.spawn C.system C.popen posix.exec",
        "eval": "load loadstring dofile",
        "rm-list": "os.remove",
        "write": "io.open",
        "mv": "os.rename",
    },
    "awk": {"process": "system"},
    "r": {
        "process": ".system .system2 shell",
        "eval": "eval source parse",
        "run-net": ".install_github .install_gitlab .install_url .install_git",
        "rm": ".unlink",
        "rm-list": "file.remove",
        "rm-r": "dir_delete",
        "put": "writeLines",
        "mv": "file.rename",
        "cp": "file.copy",
    },
    "tcl": {"process": ".spawn .exec .system"},
    "java": {"process": ".exec ProcessBuilder .execute"},
    "julia": {"process": ".run", "rm": ".rm", "mv": "mv", "eval": "eval include_string include"},
    "elixir": {
        "process": "System.cmd System.shell :os.cmd os.cmd",
        "rm-r": "File.rm_rf! File.rm_rf rm_rf! .rm_rf",
        "rm-list": "File.rm! File.rm",
        "put": "File.write! File.write",
        "eval": "Code.eval_string",
    },
    "lisp": {
        "process": "shell-command call-process .system shell-command-to-string",
        "rm-r": "delete-directory",
        "rm-list": "delete-file",
    },
    "osascript": {},
    "prolog": {"rm-list": "delete_file", "rm-r": "delete_directory_and_contents delete_directory_contents"},
    "haskell": {},
    "ocaml": {"rm-list": "Sys.remove Unix.unlink"},
    "m4": {},
    "dc": {},
    "gnuplot": {},
    "tex": {},
    "c": {},
    "go": {"rm-r": "os.RemoveAll", "rm-list": "os.Remove", "spawn": "exec.Command", "put": "os.WriteFile"},
}

FETCHES = re.compile(
    r"https?\.get\(|require\(['\"]https?['\"]\)|\bfetch\(|urlopen\(|requests\.get|URI\.open|Net::HTTP|file_get_contents\(\s*['\"]https?:|"
    r"LWP::|HTTP::Tiny|httpx\.get|open\(['\"]https?:|socket\.http|RCurl|readLines\(['\"]http|urllib|curl_init"
)
"""Programs that fetch something: what they evaluate may be what they fetched."""

SHELL_QUOTES: dict[str, tuple[str, ...]] = {
    "ruby": (r"(?<![\\\"'])`([^`]*)`(?![\"'])", r"%x[\(\[\{<|]([^)\]}>|]*)"),
    "perl": (r"(?<!\\)`([^`]*)`", r"\bqx\s*\{([^{}]*)\}", r"\bqx\s*\(([^()]*)\)", r"\bqx\s*([/|!#'\"])(.*?)\1"),
    "php": (r"(?<!\\)`([^`]*)`",),
    "javascript": (r"\$`([^`]*)`",),
    "julia": (r"run\(\s*`([^`]*)`",),
    "tcl": (
        r"\bsend\s+(?:--\s+)?\"((?:[^\"\\]|\\.)*?)(?:\\[rn])*\"",
        r"\b(?:spawn|exec|system)\s+(?:-\w+\s+)*(?:--\s+)?([^\n;\]}]+)",
        r"\bfile\s+(delete\s[^\n;\]]+)",
    ),
    "java": (
        r"""["']([^"']*+)["']\s*\.execute\(""",
        r"(?<!\\)\"((?:[^\"\\]|\\.)*+)\"\s*\.?(?:!!?|lines\w*!?)(?=[^\w=]|$)",
    ),
    "prolog": (r"\b(?:shell|system|process_create)\(\s*[\"']((?:[^\"'\\]|\\.)*)[\"']",),
    "haskell": (r"\b(?:system|callCommand|spawnCommand|shell)\s*\$?\s*\"((?:[^\"\\]|\\.)*)\"",),
    "ocaml": (
        r"\bSys\.command\s*\"((?:[^\"\\]|\\.)*)\"",
        r"\bUnix\.(?:system|open_process\w*)\s*\"((?:[^\"\\]|\\.)*)\"",
    ),
    "m4": (r"\b(?:syscmd|esyscmd|sysval)\(\s*`?\"?((?:[^'\")\\]|\\.)*)",),
    "dc": (r"^\s*!([^\n<>=].*)$",),
    "gnuplot": (r"\bsystem\s*\(?\s*[\"']((?:[^\"'\\]|\\.)*)[\"']", r"(?:^|;)\s*!(.+)$"),
    "tex": (r"\\(?:immediate\s*\\)?write18\s*\{([^{}]*)\}",),
    "go": (r"exec\.Command\(\s*\"(?:ba|z)?sh\"\s*,\s*\"-c\"\s*,\s*[\"`]((?:[^\"`\\]|\\.)*)[\"`]",),
    "osascript": (r'do shell script\s+"((?:[^"\\]|\\.)*)"',),
    "lisp": (
        r'\((?:[^\s()]{1,80}/)?(?:shell-command|system|shell|sh|bash|shell-command-to-string|async-shell-command|run-shell-command|run-program|process:?|uiop:run-program)\s+"((?:[^"\\]|\\.)*)"',
    ),
}
"""Quotes in which a language holds shell text."""

CLIENT_WORDS = (
    "boto",
    "google",
    "azure",
    "kubernetes",
    "hvac",
    "digitalocean",
    "openstack",
    "aws",
    "Aws",
    "redis",
    "Redis",
    "valkey",
    "memcache",
    "mongo",
    "Mongo",
    "motor",
    "elastic",
    "opensearch",
    "meilisearch",
    "typesense",
    "qdrant",
    "pinecone",
    "weaviate",
    "chromadb",
    "docker",
    "Docker",
    "github",
    "GitHub",
    "gitlab",
    "ctokit",
    "stripe",
    "twilio",
    "cloudflare",
    "heroku3",
    ".objects.",
    "drop_",
    "_all",
    "::",
    "psutil",
    "kazoo",
    "etcd",
    "consul",
    "kafka",
    "pika",
)
"""One of these is in every program that one of CLIENTS matches: looking for words is much faster than for expressions."""

CLIENTS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(imported), re.compile(deletes))
    for imported, deletes in (
        (
            r"\bboto3\b|\bbotocore\b|google\.cloud|googleapiclient|\bazure\.|import kubernetes|from kubernetes|\bhvac\b|digitalocean|import openstack|aws-sdk|@google-cloud|@azure/|Aws::",
            r"\.(?:delete|terminate|begin_delete|purge|stop|deregister|revoke|destroy|schedule_key_deletion|reboot|empty)\w*!?\(|\bnew\s+(?:Delete|Terminate|Stop|Purge)\w+Command|getattr\(\s*(?:boto3\.)?\w*(?:client|resource)",
        ),
        (r"\bredis\b|\bioredis\b|\bvalkey\b|memcache|\bRedis\.new", r"(?i)\.flush_?(?:all|db)\b"),
        (
            r"\bpymongo\b|MongoClient|\bmotor\b|\bmongoose\b|['\"]mongodb['\"]|Mongo::Client",
            r"\.(?:drop|drop_database|drop_collection|dropDatabase|dropCollection|delete_many|deleteMany|remove)\(",
        ),
        (
            r"\belasticsearch\b|\bopensearch\w*|meilisearch|typesense|qdrant|pinecone|weaviate|chromadb",
            r"\.(?:delete\w*|reset)\(",
        ),
        (r"\bimport docker\b|docker\.from_env|DockerClient|dockerode", r"\.(?:remove|prune\w*|kill|stop)\("),
        (
            r"from github import|import github|PyGithub|import gitlab|octokit|Octokit|\bstripe\b|\btwilio\b|cloudflare|\bheroku3\b",
            r"\.(?:delete\w*|remove\w*|destroy|refund\w*)\(",
        ),
        (r"\.objects\.", r"\.objects\.(?:all\(\)\.)?(?:delete|_raw_delete)\("),
        (r"\bdb\.drop_all\(|metadata\.drop_all\(|\bsqlalchemy\b", r"\.drop_all\((?![\s\S]{0,500}?sqlite)"),
        (
            r"\b[A-Z]\w*\.(?:\S{1,80}?\.)?(?:delete_all|destroy_all)\b|drop_table",
            r"\b[A-Z]\w*(?:\.(?:unscoped|all|where\(\s*[\"']\s*(?:1\s*=\s*1|true)[^)]{0,200}\)))?\.(?:delete_all|destroy_all)\b|\.drop_table\b",
        ),
        (
            r"::truncate\(|Schema::drop|::query\(\)->delete|DB::table",
            r"::truncate\(|Schema::drop\w*\(|::query\(\)->delete\(|->truncate\(|DB::table\([^)]{0,200}\)->delete\(",
        ),
        (r"\bpsutil\b", r"\.(?:kill|terminate)\("),
        (
            r"\bkazoo\b|import etcd3?|import consul|confluent_kafka|kafka\.admin|\bpika\b",
            r"\.(?:delete\w*|purge\w*|queue_purge|queue_delete)\(",
        ),
    )
)
"""Libraries that reach a data store or a cloud, and the methods of theirs that delete."""
