-- Carries out changes on the items of one shard, all in one step, so that an item and
-- the entries that list it never disagree.
--
-- KEYS: namespaces, expires, layout, then `keys` and `recent` of each namespace used,
--       then the item of each change.
-- ARGV: length of an item key before its name, number of namespaces, the layout or
--       nothing if it is kept elsewhere, the registry's members for the namespaces,
--       then five for each change: number of its namespace (from 1), number of its
--       group, what to do, a condition, the content.
--
-- What to do is `put` with the lifetime in milliseconds behind it (`put` alone: for
-- ever), `delete`, `touch` (begin the lifetime anew), `mend` (make the entries agree
-- with the item). A condition is empty, `new` (nothing is there), `free` (nothing, or
-- what is to be put), or `=` and the JSON that is there (or what is to be put): so a
-- change may be repeated when its answer was lost. If one condition of a group does not
-- hold, the group is left out and its number returned.
--
-- Returns the numbers of the groups left out, how many entries were mended, and names
-- of items that have expired but are still listed.

local DUE = 20
local PER_CHANGE = 5
local FIXED = 3

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local skip, spaces = tonumber(ARGV[1]), tonumber(ARGV[2])
local count = (#ARGV - FIXED - spaces) / PER_CHANGE

local function digits(number)
  return string.format('%.0f', number)
end

local function change(n)
  local at = FIXED + spaces + (n - 1) * PER_CHANGE
  local space = tonumber(ARGV[at + 1])
  local item = KEYS[FIXED + 2 * spaces + n]
  local name = string.sub(item, skip + 1)
  local _, dots = string.find(name, '..', 1, true)
  return {
    space = space, group = ARGV[at + 2], what = ARGV[at + 3],
    condition = ARGV[at + 4], json = ARGV[at + 5],
    item = item, name = name, key = string.sub(name, dots + 1),
    keys = KEYS[FIXED - 1 + 2 * space], recent = KEYS[FIXED + 2 * space],
  }
end

local function holds(one)
  if one.condition == '' then
    return true
  end
  local held = redis.call('GET', one.item)
  if not held then
    return one.condition == 'new' or one.condition == 'free' or one.what == 'delete'
  end
  local json = string.sub(held, string.find(held, '\n', 1, true) + 1)
  return one.condition ~= 'new' and (json == one.json or one.condition == '=' .. json)
end

-- Everything is read before anything is written: an error then leaves no half.
for n = 1, FIXED + 2 * spaces do
  if n ~= FIXED then
    redis.call('ZCARD', KEYS[n]) -- or it is no sorted set
  end
end
local changes, heads, left_out, puts = {}, {}, {}, false
for n = 1, count do
  local one = change(n)
  changes[n] = one
  puts = puts or string.sub(one.what, 1, 3) == 'put'
  if string.sub(one.what, 1, 3) == 'put' or one.what == 'mend' or one.what == 'touch' then
    heads[n] = redis.call('GETRANGE', one.item, 0, 63)
  end
  if not holds(one) then
    left_out[one.group] = true
  end
end

local emptied, mended = {}, 0

local function list(one, score, ends)
  local added = redis.call('ZADD', KEYS[1], 0, ARGV[FIXED + one.space])
  added = added + redis.call('ZADD', one.keys, 0, one.key)
  added = added + redis.call('ZADD', one.recent, score, one.key)
  if ends then
    added = added + redis.call('ZADD', KEYS[2], digits(ends), one.name)
  else
    added = added + redis.call('ZREM', KEYS[2], one.name)
  end
  return added
end

local function unlist(one)
  local removed = redis.call('ZREM', one.keys, one.key)
  removed = removed + redis.call('ZREM', one.recent, one.key)
  removed = removed + redis.call('ZREM', KEYS[2], one.name)
  emptied[one.space] = one.keys
  return removed
end

local function put(one, n)
  -- Changes of one call differ by a microsecond each: their order is kept.
  local updated = now + n - 1
  local created = string.match(heads[n], '^1;(%d+);') or digits(updated)
  local ttl = string.sub(one.what, 5)
  local ends = ttl ~= '' and now_ms + tonumber(ttl) or nil
  list(one, digits(updated), ends)
  redis.call('SET', one.item,
    '1;' .. created .. ';' .. digits(updated) .. ';' .. ttl .. '\n' .. one.json)
  if ends then
    redis.call('PEXPIREAT', one.item, digits(ends))
  end
end

local function touch(one, n)
  local ttl = string.match(heads[n], '^1;%d+;%d+;(%d+)\n')
  if ttl then
    local ends = digits(now_ms + tonumber(ttl))
    redis.call('PEXPIREAT', one.item, ends)
    redis.call('ZADD', KEYS[2], ends, one.name)
  end
end

local function mend(one, n)
  local left = redis.call('PTTL', one.item)
  if left == -2 then
    return unlist(one)
  end
  local updated = string.match(heads[n], '^1;%d+;(%d+);')
  return updated and list(one, updated, left >= 0 and now_ms + left or nil) or 0
end

-- It may have been flushed while we were running.
if puts and ARGV[FIXED] ~= '' then
  redis.call('SETNX', KEYS[FIXED], ARGV[FIXED])
end

for n, one in ipairs(changes) do
  if left_out[one.group] then
    -- nothing
  elseif one.what == 'delete' then
    redis.call('DEL', one.item)
    unlist(one)
  elseif one.what == 'touch' then
    touch(one, n)
  elseif one.what == 'mend' then
    mended = mended + mend(one, n)
  else
    put(one, n)
  end
end

for space, keys in pairs(emptied) do
  if redis.call('EXISTS', keys) == 0 then
    mended = mended + redis.call('ZREM', KEYS[1], ARGV[FIXED + space])
  end
end

local refused = {}
for group in pairs(left_out) do
  refused[#refused + 1] = group
end
return {
  refused, mended,
  redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', digits(now_ms), 'LIMIT', 0, DUE),
}
