local function read(object, names)
  for _, name in ipairs(names) do
    if object == nil then
      return nil
    end
    object = object[name]
  end
  return object
end

local function holds(object, condition)
  for _, it in ipairs(read(object, {"status", "conditions"}) or {}) do
    if it.type == condition and it.status == "True" then
      return true
    end
  end
  return false
end

function ReflectStatus(observedObj)
  local status = {}
  if observedObj == nil then
    return status
  end
  if observedObj.status ~= nil then
    for key, value in pairs(observedObj.status) do
      if key ~= "conditions" and key ~= "memory" then
        status[key] = value
      end
    end
  end
  status.generation = observedObj.metadata.generation
  local annotations = observedObj.metadata.annotations or {}
  local generation = tonumber(annotations["$GENERATION"])
  if generation ~= nil then
    status.resourceTemplateGeneration = generation
  end
  local inForce = {}
  inForce.lease = annotations["$LEASE"]
  inForce.template = annotations["$TEMPLATE"]
  inForce.uid = observedObj.metadata.uid
  inForce.resourceVersion = observedObj.metadata.resourceVersion
  inForce.replicas = $REPLICAS
  inForce.strategy = {}
  $STRATEGY
  $AT_REST
  status.$IN_FORCE = inForce
  return status
end
