local function count(object, name)
  return object and tonumber(object[name]) or 0
end

function AggregateStatus(desiredObj, statusItems)
  local generation = count(desiredObj.metadata, "generation")
  local status = desiredObj.status or {}
  local sums, observed = {}, true
  for _, item in ipairs(statusItems or {}) do
    local said = item.status
    for _, name in ipairs({$COUNTS}) do
      sums[name] = count(sums, name) + count(said, name)
    end
    local knows = said ~= nil and tonumber(said.resourceTemplateGeneration) ~= nil
    observed = observed and knows and said.resourceTemplateGeneration >= generation
      and count(said, "observedGeneration") >= count(said, "generation")
  end
  for _, name in ipairs({$COUNTS}) do
    status[name] = count(sums, name)
  end
  if observed then
    status.observedGeneration = generation
  end
  desiredObj.status = status
  return desiredObj
end
