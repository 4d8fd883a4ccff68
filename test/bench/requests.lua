-- Sends the requests of a file in a cycle, and prints the result as one JSON line.
-- wrk … -s requests.lua URL -- FILE RUN; the requests in FILE are raw HTTP/1.1, each ended by a NUL. The text {unique}
-- in a request is replaced by RUN and a number that grows with each.
local requests = {}
local run = ""
local nextIndex = 0
local sentCount = 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  for text in file:read("*a"):gmatch("([^%z]+)%z") do
    local before, after = text:match("^(.-){unique}(.*)$")
    requests[#requests + 1] = { before = before or text, after = after }
  end
  file:close()
  run = args[2]
end

function request()
  nextIndex = nextIndex % #requests + 1
  local following = requests[nextIndex]
  if not following.after then return following.before end
  sentCount = sentCount + 1
  return following.before .. run .. sentCount .. following.after
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"errors":%d,"broken":%d,"p50Ms":%.4f,"p99Ms":%.4f,"maxMs":%.4f}\n',
    summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
