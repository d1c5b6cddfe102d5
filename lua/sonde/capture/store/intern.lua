--- Strings, frames and stacks of a store that is written, by number.
-- Numbers that were given in a transaction are remembered at once, so whoever
-- rolls it back forgets all of them: `intern:forget()`.
-- @module sonde.capture.store.intern
local core <const> = require "sonde.c.core"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"

local intern = {}

local Intern <const> = {}
Intern.__index = Intern

-- Texts and frames that are remembered at most.
local MOST <const> = 200000

local SQL <const> = {
  find_string = "SELECT id FROM string WHERE text = ?",
  add_string = "INSERT INTO string(text) VALUES(?)",
  find_frame = "SELECT id FROM frame WHERE func = ? AND file = ? AND line = ?",
  add_frame = "INSERT INTO frame(func, file, line) VALUES(?, ?, ?)",
  find_stack = "SELECT id FROM stack WHERE hash = ? AND frames = ?",
  add_stack = "INSERT INTO stack(hash, frames) VALUES(?, ?)",
}

-- Inside a transaction a failure ends all of it; who began it turns this into
-- results.
local function must(value, message, code)
  if message then errors.raise { message = message, code = code } end
  return value
end

--- Makes one for a database.
-- @tparam userdata db
-- @treturn ?Intern
-- @treturn ?string message
-- @treturn ?string code
function intern.new(db)
  local self <const> = setmetatable({ db = db, statements = {} }, Intern)
  for name, sql in pairs(SQL) do
    local statement, message, code = db:prepare(sql)
    if statement == nil then return nil, message, code end
    self.statements[name] = statement
  end
  self:forget()
  return self
end

--- Forgets all numbers.
function Intern:forget()
  if self.book then self.book:close() end
  self.book = core.stack_book()
  self.strings, self.n_strings = {}, 0
  self.frames, self.n_frames = {}, 0
end

-- The number of a row that is looked for and, in vain, added.
local function find_or_add(self, what, ...)
  local id, message, code = self.statements["find_" .. what]:row(...)
  if id == nil and message then must(nil, message, code) end
  if id then return id end
  must(self.statements["add_" .. what]:run(...))
  return self.db:last_id()
end

--- The number of a text.
-- @tparam string text
-- @treturn integer
function Intern:string(text)
  local id = self.strings[text]
  if id == nil then
    id = find_or_add(self, "string", text)
    if self.n_strings >= MOST then self.strings, self.n_strings = {}, 0 end
    self.strings[text], self.n_strings = id, self.n_strings + 1
  end
  return id
end

--- The number of a frame.
-- @tparam string func
-- @tparam string file
-- @tparam integer line
-- @treturn integer
function Intern:place(func, file, line)
  return find_or_add(self, "frame", self:string(func), self:string(file), line)
end

-- The number of a frame of the book.
local function frame_of(self, number)
  local id = self.frames[number]
  if id == nil then
    id = self:place(self.book:frame(number))
    if self.n_frames >= MOST then self.frames, self.n_frames = {}, 0 end
    self.frames[number], self.n_frames = id, self.n_frames + 1
  end
  return id
end

-- Packs numbers of frames as the table of stacks keeps them.
local function pack(ids)
  local pieces = {}
  for i = 1, #ids, 64 do
    local n <const> = math.min(64, #ids - i + 1)
    pieces[#pieces + 1] = string.pack("<" .. ("I4"):rep(n), table.unpack(ids, i, i + n - 1))
  end
  return table.concat(pieces)
end

local function learn(self, node)
  local numbers <const> = self.book:stack(node)
  local ids = {}
  for i, number in ipairs(numbers) do ids[i] = frame_of(self, number) end
  local id <const> = find_or_add(self, "stack", self.book:hash(node), { blob = pack(ids) })
  self.book:set(node, id)
  return id
end

-- Runs on the book; when it is full, again on an empty one.
local function with_book(self, run)
  local a, b, code = run(self.book)
  if a == nil and code == "limit" then
    self:forget()
    a, b, code = run(self.book)
  end
  if a == nil then must(nil, b, code) end
  return a, b
end

--- The number of a stack.
-- @tparam {table,...} frames `{ func, file, line }`, innermost first
-- @treturn integer
function Intern:stack(frames)
  local node <const> = with_book(self, function(book) return book:add(frames) end)
  return self.book:id(node) or learn(self, node)
end

--- The rows of a profile: one for each stack.
-- @tparam Profile profile
-- @treturn integer their number
-- @treturn string numbers of the stacks, rising, packed
-- @treturn {string,...} their values of each sample type, packed
function Intern:profile(profile)
  local n, fresh = with_book(self, function(book) return book:take(profile) end)
  for _, node in ipairs(fresh) do
    if self.book:id(node) == nil then learn(self, node) end
  end
  return n, self.book:columns()
end

--- The number of a frame that is given as a table.
-- @tparam table frame `func file line`
-- @treturn integer
function Intern:frame(frame)
  return self:place(frame.func or "", frame.file or "", frame.line or 0)
end

--- The number of a table as JSON.
-- @tparam table value
-- @treturn integer
function Intern:json(value)
  return self:string(json.encode(value))
end

return intern
