"""What RedisStore has the server do at one blow, in Lua.

Keys of a thread, all with one hash tag: 1 its log (a list), 2 the indexes of its ids (a hash), 3 how it stands (a
hash), 4 its snapshot (a hash), 5 the list of threads that it stands in, by the time of the last entry (a sorted set).
"""

from __future__ import annotations

import hashlib

__all__ = ["APPEND", "DELETE", "SAVE", "SHA"]

# Nothing is undone in a script, so all is asked before anything is written. The token is the call's own: where a client
# sends the same call twice because it has lost its connection, the second one finds that it has been done.
APPEND = """
local length = redis.call('LLEN', KEYS[1])
local count = tonumber(ARGV[8])
if length ~= tonumber(ARGV[1]) then
  if redis.call('HGET', KEYS[3], 'token') == ARGV[2] then return {'ok'} end
  return {'conflict', tostring(length)}
end
for i = 1, count do
  if redis.call('HEXISTS', KEYS[2], ARGV[7 + 2 * i]) == 1 then return {'duplicate', ARGV[7 + 2 * i]} end
end
for i = 1, count do
  redis.call('HSET', KEYS[2], ARGV[7 + 2 * i], string.format('%d', length + i - 1))
  redis.call('RPUSH', KEYS[1], ARGV[8 + 2 * i])
end
redis.call('HSET', KEYS[3], 'token', ARGV[2], 'status', ARGV[3], 'updated_at', ARGV[4], 'machine_id', ARGV[5],
  'machine_version', ARGV[6])
local now = redis.call('TIME')
redis.call('ZADD', KEYS[5], string.format('%d%06d', now[1], now[2]), ARGV[7])
return {'ok'}
"""

DELETE = """
local there = redis.call('EXISTS', KEYS[1])
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
redis.call('ZREM', KEYS[5], ARGV[1])
return there
"""

SAVE = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('DEL', KEYS[4])
redis.call('HSET', KEYS[4], unpack(ARGV))
return 1
"""

SHA = {script: hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest() for script in (APPEND, DELETE, SAVE)}
