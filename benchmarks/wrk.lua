-- One request after the other, for wrk. Arguments: "get FILE" takes the paths in FILE in random order;
-- "post FILE BASE" posts the body in FILE with each @@@@@@@@@ replaced by a number not used before.
local mode, file, base
local thread_number = 0
function setup(thread)
  thread:set("number", thread_number)
  thread_number = thread_number + 1
end
function init(args)
  mode, file, base = args[1], args[2], tonumber(args[3] or "0")
  wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
  wrk.headers["Content-Type"] = "application/json"
  if mode == "get" then
    paths = {}
    for line in io.lines(file) do paths[#paths + 1] = line end
    math.randomseed(number + 1)
  else
    local handle = io.open(file, "rb")
    local template = handle:read("*a")
    handle:close()
    pieces = {}
    for piece in (template .. "@@@@@@@@@"):gmatch("(.-)@@@@@@@@@") do pieces[#pieces + 1] = piece end
    counter = base + number * 500000
  end
end
function request()
  if mode == "get" then
    return wrk.format("GET", paths[math.random(#paths)])
  end
  counter = counter + 1
  return wrk.format("POST", nil, nil, table.concat(pieces, string.format("%012d", counter)))
end
function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format("RESULT %.1f %d %d\n", summary.requests / (summary.duration / 1e6),
    latency:percentile(99), errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
