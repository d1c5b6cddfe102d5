--- Batches that could not be written yet, for every store: kept within a bound,
-- in their order, and tried again. A store gives `put(batch)`, which writes one
-- whole or not at all, and gets `write`, `flush` and `waiting`.
-- @module sonde.capture.store.waiting
local batch <const> = require "sonde.capture.store.batch"

local waiting = {}

-- Failures that may go away. Others are the batch's own, or the store's for good.
local PASSING <const> = { timeout = true, unavailable = true, canceled = true, permission = true,
  not_found = true }

local function keep(self, given)
  local size <const> = batch.size(given)
  if self.waiting_bytes + size > self.buffer then return false end
  self.queue[#self.queue + 1] = { batch = given, size = size }
  self.waiting_bytes = self.waiting_bytes + size
  return true
end

local function flush(self)
  while #self.queue > 0 do
    local first <const> = self.queue[1]
    local done, message, code = self:put(first.batch)
    if not done then return nil, message, code end
    table.remove(self.queue, 1)
    self.waiting_bytes = self.waiting_bytes - first.size
  end
  return true
end

-- Writes a batch, those that wait before it.
local function write(self, given)
  batch.check(given)
  local done, message, code = flush(self)
  if done then done, message, code = self:put(given) end
  if done then return true end
  if not PASSING[code] then return nil, message, code, false end
  if keep(self, given) then return nil, message, code, true end
  return nil, ("%s; and %d bytes already wait to be written (see buffer)"):format(message,
    self.waiting_bytes), "limit", false
end

--- Gives a class of stores its `write`, `flush` and `waiting`.
-- @tparam table class
function waiting.add_to(class)
  --- Writes a batch; see `sonde.capture.store`.
  class.write = write
  --- Writes what waits.
  class.flush = flush
  --- What waits: the number of batches, and bytes.
  class.waiting = function(self) return #self.queue, self.waiting_bytes end
end

--- Gives a store what the methods need.
-- @tparam table store
-- @tparam integer buffer bytes
function waiting.prepare(store, buffer)
  store.queue, store.waiting_bytes, store.buffer = {}, 0, buffer
end

return waiting
