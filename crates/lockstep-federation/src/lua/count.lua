local function read(object, names)
  for _, name in ipairs(names) do
    if object == nil then
      return nil
    end
    object = object[name]
  end
  return object
end

function GetReplicas(observedObj)
  local replicas = $REPLICAS
  if replicas == nil then
    replicas = 1
  end
  return replicas, nil
end
