"""What shows in a program of Python as a whole, and the signs without which it is not looked for."""

from pathlib import Path

import pytest

from shellward.command import shapes
from shellward.command.code import scan
from shellward.command.follow.nodes import calls
from shellward.command.follow.program import read

SHOWS = {
    "boto": "import boto3\nboto3.client('ec2').terminate_instances()",
    "google": "import google.cloud.storage as s\ns.Client().bucket('a').delete()",
    "azure": "from azure.storage.blob import C\nC().delete_container()",
    "kubernetes": "from kubernetes import client\nclient.V1().delete_namespace('a')",
    "hvac": "import hvac\nhvac.Client().sys.revoke('a')",
    "digitalocean": "import digitalocean\ndigitalocean.Droplet().destroy()",
    "openstack": "import openstack\nopenstack.c().delete_server('a')",
    "redis": "import redis\nredis.R().flushall()",
    "valkey": "import valkey\nvalkey.V().flushdb()",
    "memcache": "import memcache\nmemcache.Client().flushdb()",
    "mongo": "import pymongo\npymongo.C().a.drop()",
    "Mongo": "from m import MongoClient\nMongoClient().a.delete_many({})",
    "motor": "import motor\nmotor.a.delete_many({})",
    "elastic": "import elasticsearch\nelasticsearch.E().indices.delete('a')",
    "opensearch": "import opensearchpy\nopensearchpy.O().indices.delete('a')",
    "meilisearch": "import meilisearch\nmeilisearch.C().index('a').delete()",
    "typesense": "import typesense\ntypesense.C().collections['a'].delete()",
    "qdrant": "import qdrant_client\nqdrant_client.Q().delete_collection('a')",
    "pinecone": "import pinecone\npinecone.P().delete_index('a')",
    "weaviate": "import weaviate\nweaviate.C().collections.delete('a')",
    "chromadb": "import chromadb\nchromadb.C().reset()",
    "docker": "import docker\ndocker.c().containers.prune()",
    "github": "import github\ngithub.G().get_repo('a').delete()",
    "gitlab": "import gitlab\ngitlab.G().projects.delete('a')",
    "stripe": "import stripe\nstripe.C().refund('a')",
    "twilio": "import twilio\ntwilio.C().delete('a')",
    "cloudflare": "import cloudflare\ncloudflare.C().dns.delete('a')",
    "heroku3": "import heroku3\nheroku3.a().destroy()",
    ".objects.": "User.objects.all().delete()",
    "drop_": "Base.metadata.drop_all(engine)",
    "psutil": "import psutil\npsutil.Process(1).kill()",
    "kazoo": "import kazoo\nkazoo.K().delete('/a')",
    "etcd": "import etcd3\netcd3.c().delete_prefix('a')",
    "consul": "import consul\nconsul.C().kv.delete('a')",
    "kafka": "import kafka.admin\nkafka.admin.K().delete_topics(['a'])",
    "pika": "import pika\npika.B().queue_delete('a')",
    "ocket": "import socket,os\ns=socket.create('h')\nos.dup2(s.fileno(),0)",
    "onnect": "import net\nnet.connect('h')\npty.spawn('/bin/sh')",
    "fork": "import os\nwhile True: os.fork()",
    "chmod": "import os\nfor a in os.listdir('/srv'): os.chmod(a, 0o777)",
    "chown": "import os\nfor a in os.listdir('/srv'): os.chown(a, 0, 0)",
    "unlink": "import os\nfor a in os.listdir('/srv'): os.unlink(a)",
    "rmdir": "import os\nfor a in os.listdir('/srv'): os.rmdir(a)",
    "remove": "import os\nfor a in os.listdir('/srv'): os.remove(a)",
    "rmtree": "import shutil\nfor a in os.listdir('/srv'): shutil.rmtree(a)",
}
"""By sign, a program in which nothing else is one."""
_TOGETHER = {"drop_": {"_all"}}
PROGRAMS = Path(__file__).with_name("python_programs.txt").read_text(encoding="utf-8").rstrip().split("\n---\n")
EVERYWHERE = """
@a(1)
async def f(b: c(2) = d(3), *e, g=h(4), **i) -> j(5):
    async with k(6) as l, m(7): await n(8)
    async for o in p(9): yield q(10)
    else: yield from r(11)
@s(12)
class T(u(13), metaclass=v(14)):
    w: x(15) = y(16)
    z = lambda a=b(17): c(18)
try: d(19)
except e(20) as f: raise g(21) from h(22)
else: i(23)
finally: j(24)
k(25)[l(26):m(27):n(28)] = {o(29): p(30), **q(31)}, {r(32)}, [*s(33)], {t(34) for u in v(35) if w(36)}
x = {y(37): z(38) for a in b(39)}; c = [d(40) for e in f(41) for g in h(42)]; i(*j(43), **k(44))
if (l := m(45)) < n(46) < o(47) and not p(48) or q(49): r(50)
elif s(51): t(52)
else: u(53)
while v(54): w(55)
else: x(56)
f"{y(57)!r:{z(58)}}"; a(59) if b(60) else c(61); d(62) + e(63) + f(64); -g(65); assert h(66), i(67)
j(68)[k(69)] += l(70); del m(71)[n(72)]; o(73).p.q(74)
match r(75):
    case [1, *s] if t(76): u(77)
    case {'a': v.w} | X(y=1): z(78)
print((a for b in c(79)))
"""


@pytest.mark.parametrize("sign", SHOWS)
def test_a_sign_is_enough(sign):
    code = SHOWS[sign]
    signs = [one for one in shapes._SIGNS if one in code]  # each has to be needed
    assert sign in signs
    assert {one for one in signs if one not in sign and sign not in one} <= _TOGETHER.get(sign, set()), (
        "others would do"
    )
    assert scan("python", code, followed=True)


def test_a_text_that_is_put_together_is_a_sign():
    code = "import http.client as h\nh.C('/run/doc'+'ker.sock').request('DELETE /a')"
    assert not any(sign in code for sign in shapes._SIGNS)
    assert scan("python", code, followed=True)


def test_without_a_sign_nothing_shows():
    quiet = [code for code in [*PROGRAMS, EVERYWHERE] if not shapes.may_show(code)]
    assert quiet
    for code in quiet:
        actions = []
        shapes.whole("python", code, actions)
        shapes.in_loops("python", code, actions)
        assert not actions


@pytest.mark.parametrize("code", [EVERYWHERE, "\n".join(SHOWS.values()), *PROGRAMS[::10]])
def test_every_call_is_listed_when_it_is_read(code):
    tree, listed, _ = read("python", code)
    assert {id(call) for call in calls(tree)} == {id(call) for call in listed}
    assert len(listed) >= code.count("(") - 6 or code is not EVERYWHERE
